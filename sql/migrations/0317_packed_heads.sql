-- Whether a run stores its log entries and admissions packed. Processes of the release before this one start runs that do not.
alter table run_heads add column is_packed boolean not null default false;
