alter table firings validate constraint firings_decision;
