"""What is asked about stories: similar news, time lines, events, explanations, text reuse."""
