-- Answers to questions about edited values. `field`: set for a rule about all edited values of one field.
alter table decisions add column field text,
  drop constraint decisions_kind_check, add constraint decisions_kinds check (kind in ('match', 'lookup', 'edit')) not valid,
  drop constraint decisions_choice_check, add constraint decisions_choices check (choice in ('record', 'create', 'skip', 'first', 'ask', 'overwrite', 'keep')) not valid;
