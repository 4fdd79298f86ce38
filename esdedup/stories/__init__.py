"""Stories: similar news, time lines, events, explanations, text reuse."""
