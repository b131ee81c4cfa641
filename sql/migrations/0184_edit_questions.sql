-- Questions about values that a person edited in the CRM.
alter table questions drop constraint questions_kind_check, add constraint questions_kinds check (kind in ('match', 'lookup', 'edit')) not valid;
