-- How a run writes its records, as asked at the start.
alter table runs add column write_by text not null default 'records';
