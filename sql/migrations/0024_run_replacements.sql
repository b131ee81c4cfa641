-- Records whose subform rows a run of an import replaces are held like those of a request: by the run, under its owner's fence.
alter table replacements alter column write drop not null, add column run_no bigint references runs on delete cascade, add column fence bigint,
  add check ((write is null) = (run_no is not null)), add check ((run_no is null) = (fence is null));
create index on replacements (run_no) where run_no is not null;
