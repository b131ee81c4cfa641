-- Whether a run reads back what it wrote: `off`, `sample` or `all`.
alter table runs add column verify text not null default 'off';
