-- `contract`: the broken expectations of a firing whose file was held, with the contract's version and the file of each slot. `decision`: what a
-- person decided about the file; null while it waits.
alter table firings
  add column contract jsonb,
  add column decision text,
  add column decided_at timestamptz;
