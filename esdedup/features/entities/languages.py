"""Rule words per language: titles, endings and beginnings of names, words that are no name.

The Turkish ones are Tables A.1 to A.4 of the thesis (paper 004; the stray "Başbakanı" of Table
A.3 is left out, its "Çifliği" mended) and, after each, what the training part of the Turkish Wiki
NER set shows to be missing. The other languages follow the same scheme.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Rules:
    """Words of one language, as they are written; looked up folded.

    Titles stand before a person, honorifics behind it; an ending closes the name of a place or of
    an organisation, a beginning opens it. Cues are ordinary words, written small, before or after
    a name. `other` words tell of works, events and laws, which are none of the kinds. Nations and
    languages are capitalised and no entity; `never` holds the other words that a capital does not
    make a name. A run goes on over a link.
    """

    titles: str = ""
    honorifics: str = ""
    place_ends: str = ""
    body_ends: str = ""
    other_ends: str = ""
    place_starts: str = ""
    body_starts: str = ""
    bodies: str = ""
    places: str = ""
    person_before: str = ""
    person_after: str = ""
    place_before: str = ""
    place_after: str = ""
    body_before: str = ""
    body_after: str = ""
    other_after: str = ""
    other_inside: str = ""
    nations: str = ""
    never: str = ""
    links: str = ""
    is_inflected: bool = field(default=False, kw_only=True)


TURKISH = Rules(
    # Table A.1 (16 prefixes)
    titles="Bay Bayan Başbakan Başbakanı Başkanvekili Başkanı Cumhurbaşkanı Doktor Kaymakam "
    "Mareşal Müdürü Ortağı Sayın Uzmanı Vali Yüzbaşı "
    "Başkan Bakanı Bakan Yardımcısı Prof Dr Doç Av Op General Generali Albay Amiral Prens Prenses "
    "Kral Kralı Kraliçe Kraliçesi İmparator İmparatoru Papa Sultan Lord Lady Kont Dük Dükü Prensi "
    "Komutanı Sekreteri Valisi Milletvekili Sözcüsü Müsteşarı Rektörü Dekanı Savcısı Hakimi "
    "Yönetmeni Antrenörü Lideri Temsilcisi Koordinatörü Direktörü Editörü Şeyh Hacı Aziz Halife "
    "Patriği Senatör Senatörü CEO",
    # Table A.2 (5 suffixes)
    honorifics="Bey Efendi Hanım Hoca Kaptan Paşa Ağa Hatun Kağan Çelebi Reis",
    # Table A.3 (66 suffixes)
    place_ends="Abidesi Anadolu Anıtı Bakkaliyesi Bakkalı Beldesi Boğazı Bulvarı Bölgesi Caddesi "
    "Camii Dağı Denizi Doğu Geçidi Gölü Hamamı Han Havaalanı Havalimanı Irmağı Kalesi Kanalı "
    "Kaplıcaları Kaplıcası Karayolu Kilisesi Kitabevi Kulesi Köprüsü Körfezi Köyü Kırtasiyesi "
    "Lokali Lokantası Mahallesi Manastırı Meydanı Misafirhanesi Müzesi Nehri Otel Oteli Parkı "
    "Sahne Sahnesi Salonu Sarayı Sineması Sitesi Sokağı Stadyumu Stadı Tepesi Tesisleri "
    "Tiyatrosu Türbesi Yaylası Yöresi Çiftliği Öğretmenevi İlçesi "
    "Adası Adaları Yarımadası Dağları Okyanusu Eyaleti Vilayeti Cumhuriyeti Krallığı "
    "İmparatorluğu Devletleri Devleti Barajı Ovası Arena Park Şehri Kenti İli Burnu Koyu Limanı "
    "Garı İstasyonu Metrosu Binası Katedrali Cami Camisi Medresesi Hanlığı Kontluğu Prensliği "
    "Dükalığı Sultanlığı Beyliği Çölü Vadisi Platosu Çayı Deresi Takımadaları Kasabası Kantonu "
    "Yakası Havzası Kıtası Ormanı Mezarlığı Tapınağı Tüneli Otoyolu Bahçesi Hisarı Çarşısı "
    "Rayonu Oblastı Bulutsusu Cezaevi Dağı",
    # Table A.4 (39 suffixes)
    body_ends="Adliyesi Bakanlığı Bankası Başkanlığı Başsavcılığı Belediyesi Birliği Borsası "
    "Bölümü Dekanlığı Derneği Fakültesi Hastanesi Kaymakamlığı Komutanlığı Kulübü Kurulu Kurumu "
    "Kütüphanesi Lisesi Mahkemesi Meclisi Merkezi Müdürlüğü Müsteşarlığı Ocağı Odası Ofisi Okulu "
    "Parti Partisi Savcılığı Teşkilatı Valiliği Üniversitesi İdaresi İlkokulu İnşaat Şubesi "
    "Takımı Records Akademisi Kuvvetleri FC TV Federasyonu Enstitüsü Konseyi United Holding "
    "Milletler Grubu Koleji Vakfı Club Yüksekokulu Pictures Şirketi Company Corporation Ordusu "
    "Network College Parlamentosu Komitesi Studios CF Donanması Mühendisliği Belediyespor "
    "Airlines Gazetesi Bank Entertainment Yayıncılık Interactive Games Örgütü Group Hükümeti "
    "Dergisi School Konfederasyonu Senatosu Society Kongresi Kolej Times Yayınları Airways Films "
    "Ajansı Academy Konservatuvarı Cemiyeti University Komisyonu FM Radyosu Televizyonu Sendikası "
    "Yolları Kurultayı Kooperatifi Genelkurmay Emniyeti Sanayi Sanayii AŞ Ltd Inc Corp SK SC AC "
    "AFC Spor Lakers Celtics Bulls Wanderers Rovers Orkestrası Kolordu Tugayı Tümeni Alayı "
    "Hareketi Cephesi Telekom Motors Software Laboratuvarı Laboratuvarları Mektebi Ortaokulu "
    "Sigorta Medya Enerji Petrol Tekstil Gıda Turizm",
    # Named things of no kind: the run is known and used for nothing.
    other_ends="Savaşı Savaşları Kupası Ödülü Ödülleri Muharebesi Şampiyonası Festivali Lig Liga "
    "Küre Yarışması Tour Devrimi Seferi Prix Oyunları League Olimpiyatları Harekatı Turu "
    "Turnuvası Cup Taarruzu Antlaşması Anlaşması Kuşatması Konferansı Sözleşmesi Kanunu Yasası "
    "Açık Championship Günü Bayramı Dönemi Çağı Çağ Ödül Listesi Hot Awards Ligi İsyanı "
    "Ayaklanması",
    place_starts="Kuzey Güney Batı Doğu Orta Yeni San Santa Los Saint St New Aşağı Yukarı",
    body_starts="Real Inter AS Bayern FC CD FK SK AC SC KV BK IFK NK KK BC CSKA Dinamo "
    "Spartak Lokomotiv Olympique Borussia Atlético Sporting Racing",
    bodies="TRT TÜBİTAK MEB TBMM TSK THY TDK YÖK ÖSYM TÜİK BDDK RTÜK TOKİ MİT PKK AKP CHP MHP DSP "
    "HDP DTP BDP ANAP DYP IMF NATO AB BM UNESCO UNICEF FIFA UEFA NASA FBI CIA NSA BBC CNN NTV ABC "
    "NBC HBO MTV Fox TFF TCDD TEDAŞ BOTAŞ TÜPRAŞ TÜSİAD TOBB DİSK KESK Türk-İş Hak-İş AA DHA İHA "
    "Galatasaray Fenerbahçe Beşiktaş Trabzonspor Bursaspor Chelsea Arsenal Barcelona Juventus "
    "Liverpool Milan Google Microsoft Apple Facebook Twitter Amazon Intel IBM Sony Nintendo Nokia "
    "Samsung Toyota Honda Ford BMW Mercedes Volkswagen Renault Fiat Boeing Airbus Disney Marvel "
    "Reuters Unilever Koç Sabancı Hürriyet Milliyet Anayasa NBA NFL FC OPEC WHO DSÖ ASELSAN",
    places="Roma Osmanlı Kudüs Britanya Bizans Endülüs Yugoslavya Münih Venedik Kartaca Sicilya "
    "Konstantinopolis Galiçya Prusya Şam Sibirya Babil Balkanlar Lehistan Abhazya Bosna Lozan "
    "Kızıldeniz Kafkasya Mezopotamya Çekoslovakya Trakya Rumeli Akdeniz Karadeniz Ege Atina "
    "Selanik Londra Moskova Viyana Brüksel Cenevre Cenova Floransa Napoli Mekke Medine Bağdat "
    "Halep Şanghay Pekin Tiflis Bakü Erivan Sofya Üsküp Saraybosna Belgrad Bükreş Budapeşte "
    "Varşova Prag",
    person_before="yazar yazarı yönetmen yönetmeni şarkıcı şarkıcısı oyuncu oyuncusu aktör aktris "
    "gitarist gitaristi kral kralı general sultan prens papa imparator başkan başkanı "
    "cumhurbaşkanı başbakan başbakanı bakanı lideri kurucusu yapımcı yapımcısı oğlu kardeşi babası "
    "annesi eşi karısı kocası kızı arkadaşı dr prof şair ressam besteci futbolcu filozof tarihçi "
    "gazeteci mimar profesör doktor yaşındaki adındaki senarist komutan komutanı valisi "
    "antrenörü teknik solist vokalist vokalisti davulcu basçı bestecisi yardımcısı sözcüsü "
    "müdürü rahip aziz piskopos kaptan kaptanı astronom fizikçi kimyager matematikçi",
    person_after="doğumlu oğlu kızı babası annesi yönettiği yazdığı oynadığı komutasındaki kardeşi "
    "eşi rolü rolünde karakteri canlandırdığı",
    place_before="başkenti merkezi",
    place_after="ili ilçesi şehri kenti eyaleti bölgesi köyü beldesi kasabası adası nehri gölü "
    "dağı eyaletinin mahallesi havalimanı şehir kent doğumlu yakınlarında kıyısında kuzeyinde "
    "güneyinde batısında doğusunda kuzeyi güneyi başkenti yarımadası vilayeti kıyıları kıyısı "
    "sınırı limanı havaalanı semti caddesi kontluğu takımyıldızı",
    body_before="ekiplerinden takımlarından şirketi firması takımı kulübü ekibi üreticisi",
    body_after="takımı şirketi firması forması formasını formasıyla transfer mezunu kanalı "
    "üyesi dergisi gazetesi kadrosunda üniversitesi grubu partisi belediyesi kulübü",
    other_after="adlı isimli albümü filmi şarkısı romanı dizisi kitabı oyunu filminde albümünde "
    "filminin albümünün single teklisi parçası bölümü şarkısıyla programı savaşı ödülü kupası "
    "antlaşması çağı dönemi dili ansiklopedisi eseri",
    other_inside="the of and all we you me my your our for with from this that it is are what who "
    "when where how not no never up out into over him her she love song songs girl boy night "
    "world life time",
    nations="Türk Türkler Türkçe Türkiyeli Alman Almanlar Almanca Fransız Fransızca İngiliz "
    "İngilizce Amerikan Amerikalı Rus Rusça Yunan Yunanca İtalyan İtalyanca İspanyol İspanyolca "
    "Arap Araplar Arapça Fars Farsça Kürt Kürtler Kürtçe Ermeni Ermeniler Yahudi Yahudiler Japon "
    "Japonca Çinli Çince Koreli Bulgar Sırp Hırvat Boşnak Arnavut Gürcü Azeri Hollandalı "
    "Avusturyalı İsveçli Norveçli Danimarkalı Polonyalı Macar Çek Romen Ukraynalı İskoç "
    "İrlandalı Kanadalı Avustralyalı Brezilyalı Arjantinli Meksikalı Hint Hintli Pakistanlı "
    "İranlı Iraklı Suriyeli Mısırlı İsrailli Romalı Bizanslı Osmanlılar Müslüman "
    "Müslümanlar Hristiyan Hıristiyan Katolik Ortodoks Protestan Sovyet Avrupalı Moğol Tatar "
    "Özbek Kazak Kırgız Türkmen Latin Latince İskandinav Portekizli Belçikalı İsviçreli "
    "Finlandiyalı Nazi Selçuklu Afrikalı Asyalı Germen Slav Slavca İbranice",
    never="Bu Ayrıca Ancak Daha En Aynı Bir İlk Film Albüm Fakat Şarkı Bunun O İyi Filmin Grup Her "
    "Böylece Bazı Özellikle Son Diğer Albümün Babası Burada Buna Günümüzde Ama Grubun "
    "Örneğin Dünya Birçok Şu Yine Tüm Eski Ardından Şehir Genellikle Bundan Bugün Kısa "
    "Filmde Bununla Kendisi Uzun Şarkının Çok Ve Kulüp Sadece Sezon Bunlardan Özgün Oyuncu Ülkenin "
    "Bölüm Annesi Bütün Savaş Dünyanın Sonunda Öte Bunlar Aslında Sanatçı Sonra Bunu Dizi "
    "Bölge Çünkü Yazar Eğer Sonraki Roman Küçük Sonuç Devlet Kadın Yılın Takım Adı "
    "Ünlü Tek Orijinal Halen Müzik Yüksek Çoğu Şehrin Asıl Genelde Gerçek Yakın Tam Başlangıçta "
    "Bunların Oyun Şirket Artık Çeşitli Kent Senaryo Erkek İlçenin İlçe Onun Tur Pek Halk "
    "Kendi Kardeşi Ben Biz Siz Sen Onlar Hatta Profesyonel Önceleri Zaman Nitekim Toplam Genç Özel "
    "Çocuk Ülke İlin Oyunun Dolayısıyla Yaklaşık Yani Sonraları Orada Ne Şimdi Elemeleri Sonradan "
    "Geniş Nüfus Kitap Oysa Çift Bölgenin Nüfusu Hem Eyalet Üst Başlıca Merkez Savaştan Pazar "
    "Henüz Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık Pazartesi "
    "Salı Çarşamba Perşembe Cuma Cumartesi Öğrenciler Dün Yarın Gece Sabah Akşam Bunlara Böyle "
    "Öyle Şöyle Nasıl Neden Kim Hangi Ya Da De İse İle İçin Göre Kadar Gibi Karşı Rağmen Tanrı "
    "İnternet Güneş Ay Dosya Takımın Kulübün Yıldız Kurul Parti Meclis Hükümet Polis "
    "Mahkeme Bakanlık Belediye Üniversite Başkan Bakan Edinilen Kaza Kazada Karar Olay Olayda "
    "Yapılan Açıklamada Toplantı Toplantıda Konuşmasında Haber Yetkililer Şarkıda Albümde Önce "
    "Başta Gerek Antik Sayın Bunda DNA RNA DVD CD HD TV CEO PC GPS LED USB MHz Altı Yedi Sekiz "
    "Dokuz On İki Üç Dört Beş Biri Kimi "
    "Ocağında Şubatında Martında Nisanında Mayısında Haziranında Temmuzunda Ağustosunda Eylülünde "
    "Ekiminde Kasımında Aralığında Yılında Yılı Yılları Yıllarında Tarihinde "
    "İslam Oscar Noel Emmy İncil Allah Kuran ISBN URL PHP HIV AIDS USD UFO GSM",
    links="ve de la von van der bin ibn del di da",
    is_inflected=True,
)

ENGLISH = Rules(
    titles="Mr Mrs Ms Miss Dr Prof Sir Lord Lady Dame President Vice-President Senator Sen Rep "
    "Representative Congressman Congresswoman Governor Gov Mayor Minister Chancellor Secretary "
    "General Gen Colonel Col Major Maj Captain Capt Lieutenant Lt Sergeant Sgt Admiral Adm Judge "
    "Justice Chief Officer Detective Inspector King Queen Prince Princess Pope Archbishop Bishop "
    "Cardinal Father Rev Reverend Rabbi Imam Sheikh Ayatollah Emperor Duke Duchess Baron Count "
    "Coach Professor Spokesman Spokeswoman Chairman Director Ambassador Premier Emir Private Pvt "
    "Commander Commissioner Attorney Deputy Speaker CEO",
    honorifics="Jr Sr II III IV",
    place_ends="Street Avenue Road Boulevard Square Park River Lake Mountain Mountains Hill Hills "
    "Island Islands Bay Sea Ocean Gulf Strait Peninsula Valley Desert Beach Bridge Airport Station "
    "Stadium Tower Palace Castle Cathedral Church Museum County Province District State Territory "
    "Republic Kingdom Empire City Town Village Creek Falls Canyon Coast Forest Highway Plaza "
    "Harbor Harbour Canal Hotel Cemetery Arena Garden Gardens Building Hall Center Centre Region "
    "Prefecture Peak Pass Point Heights Basin Plateau Parish Manor",
    body_ends="University College School Institute Academy Ministry Department Agency Bureau "
    "Commission Committee Council Court Congress Senate Parliament Assembly House Party Union "
    "Association Federation Foundation Society Organization Organisation Bank Company Corporation "
    "Corp Inc Ltd LLC Plc Group Holdings Partners Industries Airlines Airways Motors Records "
    "Entertainment Studios Pictures Films Productions Press Times Post Journal Tribune Herald News "
    "Network Television Radio Broadcasting Club FC United Team Army Navy Force Forces Corps Guard "
    "Police Hospital Church Library Orchestra League Authority Administration Board Office Fund "
    "Trust Alliance Coalition Front Movement Brigade Regiment Division Battalion Squadron Service "
    "Services Systems Technologies Software Laboratories Labs Communications Media Energy Oil Gas "
    "Brothers Co Clinic Exchange Cabinet Treasury Lakers Celtics Yankees Rovers Wanderers Company "
    "Band Orchestra Legislature Laboratory Observatory",
    other_ends="War Wars Battle Cup Prize Award Awards Act Treaty Agreement Championship "
    "Championships Tournament Games Olympics Festival Day Week Revolution Conference Summit Open "
    "Series Tour Bowl Law Bill Amendment Protocol Accord Convention Era Century Album Language "
    "Languages Virus Project Program Programme Plan",
    place_starts="Mount Lake Cape Fort Port Saint St San Santa Los Las El New North South East "
    "West Northern Southern Eastern Western Central Upper Lower Gulf Isle Republic Kingdom "
    "Strait Bay",
    body_starts="University Ministry Department Bank Institute Academy Bureau Federation "
    "Association Society Council Church College House Office School Court Board",
    bodies="NATO UN EU IMF WHO WTO OPEC NASA FBI CIA NSA BBC CNN NBC CBS ABC HBO MTV FIFA UEFA NBA "
    "NFL MLB NHL NCAA IBM Microsoft Google Apple Facebook Twitter Amazon Intel Reuters AFP AP "
    "Boeing Airbus Toyota Honda Nissan Ford Chrysler Volkswagen BMW Siemens Sony Samsung Nokia "
    "Disney Pentagon Congress Senate Parliament Kremlin Treasury Hamas Hezbollah Fatah Taliban "
    "Pfizer Merck Walmart Wal-Mart Enron ExxonMobil Shell BP Vodafone Barclays HSBC Citigroup "
    "Yahoo Oracle Dell Cisco Motorola Verizon Nasdaq Opec Nato Unicef UNICEF UNESCO FEMA EPA FDA "
    "SEC IRS GOP Chelsea Arsenal Liverpool Everton Bloomberg Xinhua Interpol Al-Qaeda ETA IRA "
    "Labour Tory Tories Conservatives Democrats Republicans",
    person_before="actor actress singer author writer director president minister king queen "
    "spokesman spokeswoman chairman secretary coach manager striker midfielder defender captain "
    "senator governor lawyer analyst economist professor son daughter wife husband brother sister "
    "father mother named guitarist drummer composer producer founder philosopher poet "
    "historian journalist bassist vocalist novelist executive quarterback",
    person_after="said says told added who whose told reported born died argued wrote joined",
    place_before="in near at from outside throughout across",
    place_after="area region",
    body_before="",
    body_after="spokesman spokeswoman chairman executive shares officials",
    nations="American Americans British English French German Germans Spanish Italian Dutch "
    "Russian Russians Chinese Japanese Korean Turkish Iraqi Iraqis Iranian Israeli Israelis "
    "Palestinian Palestinians Arab Arabs European Europeans African Asian Australian Canadian "
    "Mexican Indian Indians Pakistani Afghan Greek Irish Scottish Welsh Polish Swedish Norwegian "
    "Danish Finnish Swiss Austrian Belgian Portuguese Brazilian Egyptian Syrian Lebanese Saudi "
    "Kurdish Kurds Jewish Jews Muslim Muslims Christian Christians Islamic Catholic Protestant "
    "Roman Latin Hispanic Democrat Democratic Republican Communist Soviet Ukrainian Thai "
    "Vietnamese Indonesian Filipino Cuban Sunni Shiite Shia Hindu Buddhist Hebrew Western Ottoman",
    never="The A An This That These Those It He She They We You I His Her Their Our My Its Your In "
    "On At By For From With Without To Of As If When While Where Who Which What Why How And But Or "
    "Nor So Yet After Before Since Until Although Though Because However Meanwhile Moreover "
    "Nevertheless Also Then There Here Not No Yes Now Today Tomorrow Yesterday Some Many Most Much "
    "More Several All Both Each Every Few One Two Three Four Five Six Seven Eight Nine Ten First "
    "Second Third Last Next Other Another Such Only Even Just Still Once During Under Over Between "
    "Among Against About Around Through Despite According Instead Perhaps Maybe Is Are Was Were "
    "Be Been Has Have Had Do Does Did Can Could Will Would Should May Might Must Let Get See Read "
    "January February March April June July August September October November December Jan Feb Mar "
    "Apr Jun Jul Aug Sept Sep Oct Nov Dec Monday Tuesday Wednesday Thursday Friday Saturday Sunday "
    "Mon Tue Wed Thu Fri Sat Sun Officials Police People Government Earlier Later Like Unlike "
    "Internet Web God Mr Mrs Christmas Easter Ramadan Earth Sun Moon Photo Video Copyright Share "
    "Story Click Page News Home Search Archive Email Print Comments Related Top Full Updated "
    "Posted Published Breaking Add Dear Too Well Oh Ok Any Few Later Soon Thus Therefore "
    "Critics Experts Scientists Researchers Doctors Women Men Children Students Teachers "
    "TV DVD CD PC AM PM EST EDT GMT BST ET Inside Outside Please Out Up Down Off Back Again",
    links="of the for de la von van der bin al del di da and",
)

FRENCH = Rules(
    titles="M MM Mme Mlle Dr Pr Me Maître Monsieur Madame Président Présidente Ministre Premier "
    "Général Colonel Capitaine Commandant Amiral Roi Reine Prince Princesse Pape Monseigneur Mgr "
    "Maire Préfet Professeur Docteur Sénateur Député",
    honorifics="Jr",
    place_ends="City",
    body_ends="FC TV Télévisions Télécom Industries Groupe SA",
    other_ends="Cup",
    place_starts="Rue Avenue Boulevard Place Pont Lac Mont Île Iles Îles Saint Sainte Port Golfe "
    "Mer Province Région Département Aéroport Gare Château Stade Cathédrale Forêt Vallée Col Cap "
    "République Royaume Nouvelle Côte Val Bois Basse Haute",
    body_starts="Université Ministère Banque Conseil Cour Tribunal Assemblée Parti Union "
    "Fédération Association Société Compagnie Groupe Agence Institut École Lycée Collège Hôpital "
    "Commission Comité Fondation Syndicat Mouvement Front Musée Organisation Centre Caisse Chambre "
    "Confédération Ligue Académie Direction Parquet Préfecture Mairie Gendarmerie Observatoire",
    bodies="SNCF RATP EDF GDF CGT CFDT FO UMP PS UDI RN LFI LREM FN TF1 AFP ONU OTAN UE FMI OMS "
    "OMC BCE INSEE Insee CNRS Renault Peugeot Citroën Airbus Total Orange Carrefour BNP LVMH PSG "
    "OM Sénat Élysée Matignon Parlement Reuters Google Apple Facebook Twitter Microsoft Amazon "
    "FIFA UEFA NASA Michelin Danone Areva Alstom Bercy",
    person_before="président présidente ministre acteur actrice chanteur chanteuse réalisateur "
    "écrivain entraîneur avocat procureur maire préfet député sénateur directeur roi reine",
    person_after="a dit",
    place_before="à en près",
    nations="Français Françaises Française Américain Américains Britannique Anglais Allemand "
    "Allemands Italien Espagnol Russe Russes Chinois Japonais Turc Européen Européens Africain "
    "Arabe Israélien Palestinien Juif Musulman Belge Suisse Iranien Irakien Syrien Canadien",
    never="Le La Les L Un Une Des Du De D Au Aux Ce Cet Cette Ces C Il Elle Ils Elles On Nous "
    "Vous Je J Tu Son Sa Ses Leur Leurs Mon Ma Mes Notre Nos Votre Et Ou Mais Donc Or Ni Car Si "
    "Que Qui Quoi Dont Où Quand Comme Comment Pourquoi Dans Par Pour Sur Sous Avec Sans Entre "
    "Vers Chez Depuis Pendant Avant Après Selon Malgré Contre À En Plus Moins Très Tout Tous "
    "Toute Toutes Aucun Chaque Plusieurs Quelques Certains Autre Autres Ainsi Alors Aussi "
    "Cependant Pourtant Enfin Ensuite Puis Hier Demain Aujourd Aujourd'hui Ici Là Deux Trois "
    "Quatre Cinq Six Sept Huit Neuf Dix Quelque Quelle Quel Lors Dès Face Parmi Outre Seul Seule "
    "Même Non Oui Ne N S Se Est Était Janvier Février Mars Avril Mai Juin Juillet Août Septembre "
    "Octobre Novembre Décembre Lundi Mardi Mercredi Jeudi Vendredi Samedi Dimanche État États "
    "Gouvernement Internet Dieu Noël Jusqu Voici Voilà Vidéo Photo Lire Publié Bien Ceux Celui "
    "Celle Cela Ça",
    links="de du des la le les d et en sur l aux van von ben al",
)

GERMAN = Rules(
    titles="Herr Frau Dr Prof Präsident Präsidentin Bundespräsident Bundeskanzler Bundeskanzlerin "
    "Kanzler Kanzlerin Minister Ministerin Ministerpräsident Ministerpräsidentin Außenminister "
    "Innenminister Finanzminister Verteidigungsminister General König Königin Prinz Prinzessin "
    "Papst Bischof Bürgermeister Bürgermeisterin Landeshauptmann Chef Chefin Trainer Sprecher "
    "Sprecherin Vorsitzender Vorsitzende Direktor Kommissar Richter Autor Regisseur Sänger "
    "Schauspieler Schauspielerin Professor Senator Premier Premierminister Obmann Parteichef",
    honorifics="Jr",
    place_ends="Straße Platz Allee See Berg Gebirge Insel Inseln Meer Brücke Flughafen Bahnhof "
    "Stadion Republik Wald Tal",
    body_ends="AG GmbH KG SE Bank Partei Universität Institut Verlag Versicherung Gesellschaft "
    "Verein FC Airlines Holding Gruppe Group Zeitung Rundschau Nachrichten",
    other_ends="Krieg Preis Pokal Cup",
    place_starts="Bad Sankt St Nord Süd Ost West Rue San Los New",
    body_starts="Universität Ministerium Institut Bank Verein Verband FC SV TSV VfB VfL Borussia "
    "Bayern Eintracht Hertha Rapid Austria",
    bodies="CDU CSU SPD FDP AfD ÖVP FPÖ SPÖ NEOS BZÖ ARD ZDF ORF RTL SAP BMW VW Volkswagen Siemens "
    "Daimler Bayer BASF Lufthansa Telekom EZB EU UN UNO NATO IWF WHO APA dpa AFP Reuters Bundestag "
    "Bundesrat Nationalrat Google Apple Facebook Twitter Microsoft Amazon FIFA UEFA NASA DFB ÖFB "
    "Allianz Opel Audi Porsche Mercedes OMV ÖBB Nationalbank Rechnungshof",
    person_before="präsident",
    place_before="nach",
    nations="Deutsche Deutschen Deutscher Österreicher Franzosen Briten Amerikaner Russen Chinesen "
    "Türken Türke Europäer Araber Juden Muslime Christen Griechen Italiener Spanier Polen Syrer "
    "Iraner Iraker Israelis Palästinenser Kurden Schweizer Deutsch Englisch Französisch",
    never="Der Die Das Den Dem Des Ein Eine Einen Einem Einer Eines Er Sie Es Wir Ihr Ich Du "
    "Sein Seine Ihre Unser Mein Dieser Diese Dieses Diesem Diesen Jener Und Oder Aber Denn Doch "
    "Sondern Wenn Als Ob Dass Weil Während Nachdem Bevor Seit Bis Wie Wo Wer Was Warum Wann In "
    "Im An Am Auf Aus Bei Beim Mit Nach Von Vom Vor Zu Zum Zur Für Gegen Ohne Um Durch Über "
    "Unter Zwischen Auch Nur Noch Schon Sehr So Dann Da Damit Dabei Danach Dazu Dort Hier Heute "
    "Gestern Morgen Jetzt Nun Nicht Kein Keine Alle Viele Einige Mehr Laut Trotz Wegen Zwei Drei "
    "Vier Fünf Sechs Sieben Acht Neun Zehn Januar Jänner Februar März April Mai Juni Juli August "
    "September Oktober November Dezember Montag Dienstag Mittwoch Donnerstag Freitag Samstag "
    "Sonnabend Sonntag Jahr Jahre Jahren Prozent Millionen Milliarden Euro Dollar Uhr Menschen "
    "Polizei Regierung Zeit Tag Tage Land Stadt Welt Internet Gott Ende Teil Mann Kinder Leben "
    "Man Zudem Außerdem Dennoch Allerdings Bereits Zuvor Zuletzt Insgesamt Rund Etwa Ist Sind "
    "War Waren Hat Haben Wird Werden",
    links="von van der zu de la am an",
)

SPANISH = Rules(
    titles="Sr Sra Srta Señor Señora Don Doña Dr Dra Presidente Presidenta Ministro Ministra "
    "General Coronel Capitán Rey Reina Príncipe Princesa Papa Monseñor Alcalde Alcaldesa "
    "Gobernador Gobernadora Senador Senadora Diputado Diputada Profesor Juez Fiscal Secretario",
    honorifics="Jr",
    place_ends="City",
    body_ends="FC CF TV SA Televisión Airlines",
    other_ends="Cup",
    place_starts="Calle Avenida Plaza Paseo Puente Lago Monte Isla Islas San Santa Santo Puerto "
    "Golfo Mar Provincia Región Departamento Aeropuerto Estación Castillo Estadio Catedral Valle "
    "Cabo República Reino Nueva Nuevo Costa Río Sierra Ciudad Villa Los Las El",
    body_starts="Universidad Ministerio Banco Consejo Corte Tribunal Asamblea Partido Unión "
    "Federación Asociación Sociedad Compañía Grupo Agencia Instituto Escuela Colegio Hospital "
    "Comisión Comité Fundación Sindicato Movimiento Frente Museo Organización Centro Cámara "
    "Confederación Liga Academia Dirección Fiscalía Policía Guardia Real Atlético Club Secretaría",
    bodies="PP PSOE Podemos Vox Ciudadanos ONU OTAN UE FMI OMS BCE EFE RTVE BBVA Santander "
    "Telefónica Repsol Iberia Endesa Congreso Senado Parlamento Generalitat Moncloa PRI PAN "
    "Morena Pemex Reuters Google Apple Facebook Twitter Microsoft Amazon FIFA UEFA NASA Inditex",
    person_before="presidente presidenta ministro ministra actor actriz cantante director escritor "
    "entrenador abogado alcalde gobernador senador diputado rey reina",
    place_before="en desde hacia",
    nations="Español Española Españoles Estadounidense Británico Inglés Francés Alemán Italiano "
    "Ruso Chino Japonés Turco Europeo Africano Árabe Israelí Palestino Judío Musulmán Mexicano "
    "Argentino Colombiano Venezolano Cubano",
    never="El La Los Las Lo Un Una Unos Unas Del De Al A Este Esta Estos Estas Ese Esa Esos Eso "
    "Esto Aquel Él Ella Ellos Ellas Yo Tú Usted Nosotros Su Sus Mi Mis Nuestro Nuestra Y E O U "
    "Pero Sino Si Que Quien Quién Qué Cual Cuál Cuando Cuándo Como Cómo Donde Dónde Por Para Con "
    "Sin Sobre Bajo Entre Hacia Hasta Desde Durante Antes Después Según Contra En Más Menos Muy "
    "Todo Todos Toda Todas Cada Varios Algunos Algunas Otro Otra Otros Otras Así Entonces "
    "También Además Sin Embargo Aunque Mientras Luego Ayer Hoy Mañana Aquí Allí Ahora Ya No Sí "
    "Se Es Son Fue Era Ha Han Dos Tres Cuatro Cinco Seis Siete Ocho Nueve Diez Tras Ante "
    "Mediante Enero Febrero Marzo Abril Mayo Junio Julio Agosto Septiembre Setiembre Octubre "
    "Noviembre Diciembre Lunes Martes Miércoles Jueves Viernes Sábado Domingo Estado Estados "
    "Gobierno Internet Dios Navidad Foto Vídeo Lea Porque Pues Cuenta Hay Solo Sólo Tal Tan "
    "Tanto Esa",
    links="de del la las los y el e san",
)

RULES: dict[str, Rules] = {
    "tr": TURKISH,
    "en": ENGLISH,
    "fr": FRENCH,
    "de": GERMAN,
    "es": SPANISH,
}
