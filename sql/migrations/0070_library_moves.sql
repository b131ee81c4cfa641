-- How often the management of the org's libraries changed. It is part of the entity tag of `config/resolved`, because a change of management makes
-- no registry version.
alter table orgs add column library_moves bigint not null default 0;
