alter table credit_entries
  add column included_fraction numeric not null default 0,
  add column purchased_fraction numeric not null default 0,
  add column reserved_fraction numeric not null default 0;
