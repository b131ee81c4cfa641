-- The origins whose pages may embed imports of the org.
alter table org_settings add column embed_origins text[] not null default '{}';
