-- Which written rows the runs of a template read back, unless a run or its schedule says otherwise: `off`, `sample` or `all`.
alter table templates add column verify text not null default 'off';
