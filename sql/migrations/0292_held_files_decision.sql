alter table firings add constraint firings_decision check (decision is null or decision in ('accepted', 'discarded')) not valid;
