-- True: the role was set in Lading, by an admin or an accepted invitation, and the CRM does not change it.
alter table members add column manual_role boolean not null default false;
