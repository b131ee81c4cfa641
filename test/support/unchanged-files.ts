import fc from 'fast-check'

/** A cell of a file and its value in the CRM. Null clears the field; undefined leaves it unchanged. */
type Cell = {text: string; value: unknown}
/** A record of the CRM before the import, by field. */
export type SeedRecord = Record<string, unknown>
export type FileRowCells = Record<string, Cell>

/**
 * One random import into the module Orders. `by`: the match field. `clears`: the fields that an empty cell clears. `patched`: the fields
 * that are written after all rows.
 */
export type UnchangedCase = {
  by: 'Code' | 'Short'
  onMany: 'first' | 'skip'
  clears: string[]
  patched: string[]
  seeds: SeedRecord[]
  rows: FileRowCells[]
}

const long = 'All of it. '.repeat(60)

/** Texts of cells by field, each with the value that a write sends for the text. */
const POOLS: Record<string, [string, unknown][]> = {
  Name: [
    ['Ana', 'Ana'],
    ['Übersee', 'Übersee'],
    ['  Bo ', 'Bo'],
  ],
  Status: [
    ['Fresh', 'New'],
    ['Shipped', 'Shipped'],
  ],
  Channels: [
    ['Web;Phone', ['Web', 'Phone']],
    ['Phone; Web', ['Web', 'Phone']],
    ['Shop', ['Shop']],
  ],
  Quantity: [
    ['7', 7],
    ['0', 0],
  ],
  Amount: [
    ['12.30', 12.3],
    ['12.3', 12.3],
    ['-1', -1],
  ],
  Weight: [
    ['1.25', 1.25],
    ['2', 2],
  ],
  Serial: [
    ['900719925474099', '900719925474099'],
    ['12', '12'],
  ],
  Order_Date: [
    ['2026-02-28', '2026-02-28'],
    ['2026-03-01', '2026-03-01'],
  ],
  Due_At: [
    ['2026-02-28T10:00:00Z', '2026-02-28T10:00:00Z'],
    ['2026-02-28T12:00:00+02:00', '2026-02-28T10:00:00Z'],
    ['2026-02-28T10:00:01Z', '2026-02-28T10:00:01Z'],
  ],
  Paid: [
    ['yes', true],
    ['no', false],
  ],
  Contact_Email: [
    ['a@b.example', 'a@b.example'],
    ['A@b.example', 'A@b.example'],
  ],
  Notes: [
    ['short', 'short'],
    [long, long],
  ],
  Account: [
    ['1', {number: '1'}],
    ['2', {number: '2'}],
  ],
}
const keys = ['k1', 'K1', 'k2', 'k3', 'k4', 'k5']
const optional = Object.keys(POOLS).filter(field => field !== 'Name')
const clearable = optional.filter(field => field !== 'Account' && field !== 'Paid')

const cellOf = (field: string, clears: string[]): fc.Arbitrary<Cell> => {
  const filled = fc.constantFrom(...POOLS[field]!).map(([text, value]) => ({text, value}))
  if (field === 'Name') return filled
  const empty = fc.constant({text: '', value: clears.includes(field) ? null : undefined})
  const cleared = fc.constant({text: '\\N', value: null})
  return fc.oneof(
    {weight: 7, arbitrary: filled},
    {weight: 2, arbitrary: empty},
    ...(clearable.includes(field) ? [{weight: 1, arbitrary: cleared}] : []),
  )
}

const recordOf = (cells: fc.Arbitrary<Record<string, Cell>>) =>
  cells.map(row => Object.fromEntries(Object.entries(row).flatMap(([field, {value}]) => (value == null ? [] : [[field, value]]))))

const rowOf = (clears: string[], key: fc.Arbitrary<string>): fc.Arbitrary<FileRowCells> =>
  fc
    .tuple(
      key,
      fc.record(Object.fromEntries(Object.keys(POOLS).map(field => [field, cellOf(field, clears)]))) as fc.Arbitrary<FileRowCells>,
    )
    .map(([text, row]) => ({...row, key: {text, value: text}}))

export const unchangedCases: fc.Arbitrary<UnchangedCase> = fc
  .record({
    by: fc.constantFrom('Code' as const, 'Short' as const),
    onMany: fc.constantFrom('first' as const, 'skip' as const),
    clears: fc.subarray(clearable),
    patched: fc.subarray(['Weight', 'Account', 'Order_Date'], {maxLength: 2}),
  })
  .chain(({by, onMany, clears, patched}) => {
    const seedKeys =
      by === 'Code'
        ? fc.uniqueArray(fc.constantFrom('k1', 'k2', 'k3', 'k4'), {maxLength: 4})
        : fc.array(fc.constantFrom('k1', 'k2', 'k3'), {maxLength: 5})
    const seeds = seedKeys.chain(list =>
      list.length === 0 ? fc.constant([]) : fc.tuple(...list.map(key => recordOf(rowOf([], fc.constant(key))))),
    ) as fc.Arbitrary<SeedRecord[]>
    const rows = fc.array(
      rowOf(clears, fc.oneof({weight: 12, arbitrary: fc.constantFrom(...keys)}, {weight: 1, arbitrary: fc.constant('')})),
      {minLength: 1, maxLength: 20},
    )
    return fc.record({
      by: fc.constant(by),
      onMany: fc.constant(onMany),
      clears: fc.constant(clears),
      patched: fc.constant(patched),
      seeds,
      rows,
    })
  })

const columns = ['key', ...Object.keys(POOLS)]

export const csvOf = ({rows}: UnchangedCase) =>
  `${[columns, ...rows.map(row => columns.map(name => row[name]!.text))].map(cells => cells.map(cell => `"${cell}"`).join(',')).join('\n')}\n`

/** Returns the flow of a case. */
export const flowOf = ({by, onMany, clears, patched}: UnchangedCase, unchanged: 'skip' | 'write') => ({
  module: 'Orders',
  match: {by: [by], onOne: 'update', onMany, unchanged},
  fields: [
    {field: by, mode: 'column', source: 'key'},
    ...Object.keys(POOLS).map(field => ({
      field,
      source: field,
      empty: clears.includes(field) ? 'clear' : 'leave',
      ...(field === 'Account' ? {mode: 'search', searchField: 'Account_Number', onNone: 'leave'} : {mode: 'column'}),
      ...(patched.includes(field) && {patch: {}}),
    })),
  ],
})

/** Returns the seeds as the CRM stores them. `accountOf` returns the id of an account by its number. */
export const seedsOf = ({by, seeds}: UnchangedCase, accountOf: (number: string) => string): Record<string, unknown>[] =>
  seeds.map(({key, Account, ...record}) => ({
    ...record,
    [by]: key,
    ...(Account ? {Account: {id: accountOf((Account as {number: string}).number)}} : {}),
  }))

export type HeldRecord = Record<string, any> & {id: string}

/** Returns the comparable values of records, without ids and sorted. `numberOf` returns the number of an account by its id. */
export const contentOf = (records: HeldRecord[], numberOf: (id: string) => string): string[] =>
  records
    .map(record =>
      JSON.stringify(
        ['Code', 'Short', ...Object.keys(POOLS)].map(field => {
          const value = record[field]
          if (field === 'Account') return value ? numberOf(value.id) : null
          if (field === 'Due_At') return value ? Date.parse(value) : null
          return Array.isArray(value) ? value.toSorted() : (value ?? null)
        }),
      ),
    )
    .sort()

export type ExpectedWrites = {creates: number; updates: number; patches: number}

/**
 * Computes how many writes an import makes if it skips unchanged rows. `held`: the records before the import. After a row wrote a record, every
 * later row of the record is written.
 */
export const expectWrites = (
  {by, onMany, rows, patched}: UnchangedCase,
  held: HeldRecord[],
  numberOf: (id: string) => string,
): ExpectedWrites => {
  const fold = (text: unknown) =>
    String(text ?? '')
      .trim()
      .toLowerCase()
  const records = held.toSorted((a, b) => a.id.length - b.id.length || (a.id < b.id ? -1 : 1))
  const written = new Set<object>()
  const targets = new Map<FileRowCells, object>()
  const writes = {creates: 0, updates: 0, patches: 0}
  const created = new Map<string, object>()
  for (const row of rows) {
    const key = fold(row.key!.value)
    const matches: object[] =
      key === '' ? [] : [...records.filter(record => fold(record[by]) === key), ...(created.has(key) ? [created.get(key)!] : [])]
    if (matches.length > 1 && onMany === 'skip') continue
    const [target = {}] = matches
    targets.set(row, target)
    if (matches.length === 0) {
      writes.creates++
      if (key !== '') created.set(key, target)
    } else if (
      written.has(target) ||
      !holds(
        target as HeldRecord,
        {...row, [by]: row.key!},
        [by, ...Object.keys(POOLS).filter(field => !patched.includes(field))],
        numberOf,
      )
    )
      writes.updates++
    else continue
    written.add(target)
  }
  const values = new Map<object, HeldRecord>()
  for (const [row, target] of targets) {
    const fields = patched.filter(field => row[field]!.value !== undefined)
    if (fields.length === 0) continue
    const now = values.get(target) ?? {...(target as HeldRecord)}
    if (!written.has(target) && holds(now, row, fields, numberOf)) continue
    writes.patches++
    values.set(target, {...now, ...Object.fromEntries(fields.map(field => [field, row[field]!.value]))})
  }
  return writes
}

const holds = (record: HeldRecord, row: FileRowCells, fields: string[], numberOf: (id: string) => string) =>
  fields.every(field => {
    const {value} = row[field]!
    return value === undefined || isSame(field, value, record[field], numberOf)
  })

const isSame = (field: string, sent: any, held: any, numberOf: (id: string) => string): boolean => {
  if (sent === null) return held === null || held === undefined || held === '' || (Array.isArray(held) && held.length === 0)
  if (held === null || held === undefined) return false
  if (field === 'Account') return (held.number ?? numberOf(held.id)) === sent.number
  if (field === 'Due_At') return Date.parse(held) === Date.parse(sent)
  if (field === 'Channels') return JSON.stringify([...held].sort()) === JSON.stringify([...sent].sort())
  // An option has a display value and an actual value; the stand-in stores the display value.
  if (field === 'Status') return held === sent || (held === 'Fresh' && sent === 'New')
  // A read may cut a text of several lines, so a long one never counts as equal.
  if (field === 'Notes' && String(held).length >= 500) return false
  return String(held).trim() === String(sent).trim()
}
