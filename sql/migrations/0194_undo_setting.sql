-- Whether runs of the org store before images, so that they can be undone.
alter table org_settings add column undo boolean not null default true;
