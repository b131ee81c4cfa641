import type {Migration} from '../../sql/migration-files.ts'

/**
 * Returns the rules that a migration violates. It runs while old and new processes use the database. `before`: the migrations applied earlier,
 * in order.
 */
export const judgeMigration = (migration: Migration, before: Migration[] = []): string[] => {
  const statements = statementsOf(migration.text)
  const here: Here = {migration, made: new Set(statements.flatMap(madeBy)), earlier: before.flatMap(({text}) => statementsOf(text))}
  const says = statements.flatMap(statement => judgeStatement(statement, here).map(say => `${say}: ${statement.slice(0, 120)}`))
  const tables = new Set(statements.flatMap(tableLockedBy).filter(table => !here.made.has(table)))
  if (tables.size > 1) says.push(`${[...tables].join(' and ')} are locked together: a file each, or the first waits for the second`)
  if (migration.how !== 'at once' && statements.length !== 1) says.push(`what runs ${migration.how} is one statement`)
  if (statements.length > 1 && statements.some(statement => / validate constraint /.test(statement)))
    says.push('validate constraint reads the whole table: in a file of its own, where it holds no other lock meanwhile')
  return says
}

type Here = {migration: Migration; made: Set<string>; earlier: string[]}

/** Returns the statements of a text in lower case with single blanks, without comments, and with empty function bodies and strings. */
const statementsOf = (text: string): string[] =>
  text
    .replace(/\$(\w*)\$.*?\$\1\$/gs, "''")
    .replace(/--.*$/gm, '')
    .replace(/'(?:[^']|'')*'/g, "''")
    .toLowerCase()
    .split(';')
    .map(part => part.replace(/\s+/g, ' ').trim())
    .filter(Boolean)

const madeBy = (statement: string) => [/^create table (?:if not exists )?(\w+)/.exec(statement)?.[1] ?? []].flat()

const tableLockedBy = (statement: string) =>
  [
    /^alter table (?:only |if exists )*(\w+)/.exec(statement)?.[1] ??
      / (?:before|after|instead of) .*? on (\w+)/.exec(statement)?.[1] ??
      [],
  ].flat()

const judgeStatement = (statement: string, here: Here): string[] => {
  const rule = RULES.find(({is}) => is.test(statement))
  return rule ? rule.judge(statement, here) : ['no rule allows this statement beside old processes']
}

const fine = () => []
/** Requires a contract migration, because code of an older release may still run and read the object. */
const onlyContract = (_: string, {migration}: Here) =>
  migration.contract ? [] : ["old processes may read it: a release later, under '-- contract: why no code that may still run reads it'"]

type StatementRule = {is: RegExp; judge(statement: string, here: Here): string[]}
const RULES: StatementRule[] = [
  {is: /^create (?:table|view|sequence|type|domain|(?:or replace )?function|or replace function|or replace view) /, judge: fine},
  {is: /^create (?:or replace )?(?:constraint )?trigger /, judge: fine},
  {is: /^create (?:unique )?index /, judge: (statement, here) => judgeIndex(statement, here)},
  {is: /^alter table /, judge: (statement, here) => judgeTable(statement, here)},
  {is: /^drop index /, judge: (statement, here) => [...isConcurrent(statement, here), ...onlyContract(statement, here)]},
  {is: /^drop (?:table|view|function|trigger|type|sequence) /, judge: onlyContract},
  {is: /^insert into \w+(?: \([^)]*\))? values /, judge: fine},
  {is: /^(?:with .* )?(?:insert|update|delete) /, judge: (statement, here) => judgeChange(statement, here)},
  {is: /^(?:comment|grant|analyze) /, judge: fine},
]

const isConcurrent = (statement: string, {migration}: Here) => [
  ...(/ index concurrently if (?:not )?exists \w/.test(statement)
    ? []
    : ["'concurrently if (not) exists' and a name, so that it can be tried again"]),
  ...(migration.how === 'concurrently' ? [] : ["it blocks writers: put it under '-- concurrently', in a file of its own"]),
]

const judgeIndex = (statement: string, here: Here) => {
  const [, table] = / on (?:only )?(\w+)/.exec(statement) ?? []
  return here.made.has(table!) ? [] : isConcurrent(statement, here)
}

const judgeChange = (statement: string, {migration, made}: Here) => {
  const [, table] = /(?:insert into|update|delete from) (?:only )?(\w+)/.exec(statement) ?? []
  if (made.has(table!) || migration.how === 'in pieces') return []
  return ["rows stay locked until all are changed: under '-- in pieces', so many at a time, or by the new code as it meets them"]
}

const judgeTable = (statement: string, here: Here) => {
  const [, table = '', actions = ''] = /^alter table (?:only |if exists )*(\w+) (.*)$/.exec(statement) ?? []
  if (here.made.has(table)) return []
  return splitActions(actions).flatMap(action => {
    const rule = ACTIONS.find(({is}) => is.test(action))
    if (!rule) return [`'${action}' is not known to be safe on a table in use`]
    return rule.judge(action, {...here, table, all: actions})
  })
}

/** Splits the actions of an `alter table` at commas outside parentheses. */
const splitActions = (actions: string): string[] => {
  const parts = ['']
  let depth = 0
  for (const sign of actions) {
    if (sign === '(') depth++
    if (sign === ')') depth--
    if (sign === ',' && depth === 0) parts.push('')
    else parts[parts.length - 1] += sign
  }
  return parts.map(part => part.trim())
}

type OnTable = Here & {table: string; all: string}
type ActionRule = {is: RegExp; judge(action: string, on: OnTable): string[]}
const ACTIONS: ActionRule[] = [
  {is: /^validate constraint /, judge: fine},
  {is: /^(?:add constraint \w+ |add (?=check|foreign|unique|primary|exclude))/, judge: action => judgeConstraint(action)},
  {is: /^add /, judge: action => judgeColumn(action)},
  {is: /^alter (?:column )?\w+ (?:set default|drop default|drop not null|set statistics|set storage|set \()/, judge: fine},
  {is: /^alter (?:column )?\w+ set not null$/, judge: (action, on) => judgeNotNull(action, on)},
  {is: /^(?:set|reset) \(/, judge: fine},
  // Allowed if the same statement adds a constraint in its place.
  {is: /^drop constraint /, judge: (action, on) => (/\badd constraint \w+ (?:check|foreign)/.test(on.all) ? [] : onlyContract(action, on))},
  {is: /^drop (?:column )?\w+/, judge: onlyContract},
]

const judgeConstraint = (action: string) => {
  if (/\b(?:unique|primary key)\b/.test(action))
    return / using index \w+/.test(action) ? [] : ["it is checked under a lock: build the index '-- concurrently', then 'using index'"]
  return / not valid$/.test(action) ? [] : ["all rows are read under a lock: 'not valid' here, 'validate constraint' in the next file"]
}

/** Matches defaults that are equal for all rows, so that no row is rewritten. */
const sameForAll = /^(?:''|-?\d[\d.]*|true|false|null|array\[\]|now\(\)|lading_now\(\)|current_(?:timestamp|date))(?:::[\w[\]]+)?$/

const judgeColumn = (action: string): string[] => {
  const says: string[] = []
  const [, value] = / default (\(.*?\)|\S+)/.exec(action) ?? []
  if (value !== undefined && !sameForAll.test(value))
    says.push(`the default '${value}' may differ from row to row, so all are written anew`)
  if (/ generated | (?:small|big)?serial\b/.test(action)) says.push('all rows are written anew: let the new code fill it')
  if (/ not null\b/.test(action) && value === undefined) says.push('old processes insert rows without it: give it a default')
  if (/ (?:unique|primary key)\b/.test(action)) says.push("its index is built under a lock: '-- concurrently', after it")
  if (/ check\b/.test(action))
    says.push("all rows are read under a lock for its check: 'add constraint … not valid' beside it, 'validate' after it")
  if (/ references /.test(action) && value !== undefined) says.push('all rows are read under a lock for its reference: no default')
  return says
}

/** Requires an earlier validated check, so that not all rows are read under a lock. Old processes must also have stopped writing nulls. */
const judgeNotNull = (action: string, on: OnTable) => {
  const [, column] = /^alter (?:column )?(\w+)/.exec(action)!
  const adds = new RegExp(`^alter table ${on.table} .*add constraint (\\w+) check \\(\\(?${column} is not null\\)?\\) not valid`)
  const names = on.earlier.flatMap(statement => adds.exec(statement)?.[1] ?? [])
  const isProved = names.some(name => on.earlier.includes(`alter table ${on.table} validate constraint ${name}`))
  const unproved = `all rows are read under a lock: first a check (${column} is not null) 'not valid', then 'validate', each a file before`
  return [...(isProved ? [] : [unproved]), ...onlyContract(action, on)]
}
