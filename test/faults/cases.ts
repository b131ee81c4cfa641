import {column, companies} from '../support/lookups.ts'
import type {Random} from './random.ts'

/**
 * The rows of one flow. `tags`: for each row, the value of `field` that identifies its record. Rows with the same tag share one record if the
 * field is unique or matched. Otherwise each row has its own record.
 */
export type Part = {
  flow: string
  source: string
  module: string
  field: string
  /** True if the tag is a unique value, so that the CRM never holds it twice. */
  unique: boolean
  tags: string[]
  /** The column of the file that holds the tags. */
  column: string
  /** True if the flow matches by the tag and updates the match. Rows with the same tag are then one record. */
  matched?: boolean
  /** A field that every row writes, and its value for each row. */
  values?: {field: string; cells: string[]}
  /** The field that links a row to its parent account, and the number of that account for each row. */
  parents?: {field: string; tags: string[]}
}

export type Case = {
  name: string
  files: Record<string, string>
  flows: ({source: string} & Record<string, unknown>)[]
  parts: Part[]
  /** Records that another user created in the CRM before the import. */
  before: {module: string; records: Record<string, unknown>[]}[]
  start: {declaredRows?: number}
}

type Shape = {dice: Random; mark: string; rows: number}

/** Returns the import of a seed. Consecutive seeds use the kinds of imports in turn. */
export const writeCase = (seed: number, dice: Random, rows: number): Case => {
  const shape = {dice, mark: `s${seed}-`, rows}
  const laid = lays[seed % lays.length]!(shape)
  // This run stops at its row limit. The judge can account for the rows beyond the limit only if the import has one flow.
  return laid.flows.length === 1 && dice.chance(0.2) ? {...laid, start: {declaredRows: Math.floor(rows * 0.8)}} : laid
}

/**
 * Returns an import of accounts with a unique number. The file repeats some accounts. The CRM already holds some accounts, and refuses a few.
 */
const layKnown = ({dice, mark, rows}: Shape): Case => {
  const tags = repeatSome(dice, mark, rows)
  const known = tags.filter(() => dice.chance(0.02)).map(tag => ({Account_Name: 'Theirs', Account_Number: tag}))
  const names = tags.map((_, n) => (dice.chance(0.005) ? 'x'.repeat(201) : `Company ${n}`))
  return {
    name: 'unique field, matched',
    files: {companies: csvOf(['name', 'number'], [names, tags])},
    flows: [companies()],
    parts: [{flow: 'companies', source: 'companies', module: 'Accounts', field: 'Account_Number', unique: true, column: 'number', tags}],
    before: [{module: 'Accounts', records: uniqueBy(known, ({Account_Number}) => Account_Number)}],
    start: {},
  }
}

/** Returns an import of leads without a unique field. Some leads are equal. */
const layPlain = ({dice, mark, rows}: Shape): Case => {
  const tags = repeatSome(dice, mark, rows)
  return {
    name: 'no unique field',
    files: {leads: csvOf(['last', 'company'], [tags, tags.map(tag => `Of ${tag}`)])},
    flows: [{id: 'leads', source: 'leads', module: 'Leads', fields: [column('Last_Name', 'last'), column('Company', 'company')]}],
    parts: [{flow: 'leads', source: 'leads', module: 'Leads', field: 'Last_Name', unique: false, column: 'last', tags}],
    before: [],
    start: {},
  }
}

/** Returns an import of companies and their orders. Each order names its company by number. */
const layFamily = ({dice, mark, rows}: Shape): Case => {
  const [parents, children] = [Math.ceil(rows / 3), rows - Math.ceil(rows / 3)]
  const numbers = Array.from({length: parents}, (_, n) => `${mark}${n}`)
  const codes = Array.from({length: children}, (_, n) => `${mark}${n}`)
  const owners = codes.map(() => dice.pick(numbers))
  return {
    name: 'parents by key',
    files: {
      companies: csvOf(['name', 'number'], [numbers.map(number => `Company ${number}`), numbers]),
      orders: csvOf(['code', 'company'], [codes, owners]),
    },
    flows: [companies(), orders()],
    parts: [
      {flow: 'companies', source: 'companies', module: 'Accounts', field: 'Account_Number', unique: true, column: 'number', tags: numbers},
      {
        flow: 'orders',
        source: 'orders',
        module: 'Orders',
        field: 'Code',
        unique: true,
        column: 'code',
        tags: codes,
        parents: {field: 'Account', tags: owners},
      },
    ],
    before: [],
    start: {},
  }
}

/** Returns an import of products that are matched by a name that is not unique. */
const layMatched = ({dice, mark, rows}: Shape): Case => {
  const tags = repeatSome(dice, mark, rows)
  const known = [...new Set(tags.filter(() => dice.chance(0.02)))].map(tag => ({Product_Name: tag}))
  return {
    name: 'no unique field, matched',
    files: {products: csvOf(['name', 'code'], [tags, tags.map((_, n) => `${n}`)])},
    flows: [
      {
        id: 'products',
        source: 'products',
        module: 'Products',
        match: {by: ['Product_Name'], onOne: 'update', onMany: 'skip'},
        fields: [column('Product_Name', 'name'), column('Product_Code', 'code')],
      },
    ],
    parts: [{flow: 'products', source: 'products', module: 'Products', field: 'Product_Name', unique: false, column: 'name', tags}],
    before: [{module: 'Products', records: known}],
    start: {},
  }
}

/** Returns an import of orders and, after them, their companies. A later patch writes the link to the company and one more field. */
const layPatched = ({dice, mark, rows}: Shape): Case => {
  const family = layFamily({dice, mark, rows})
  const [companiesPart, ordersPart] = family.parts
  const short = column('Short', 'short', {patch: {overwrite: dice.pick(['always', 'if-absent'])}})
  const flow = orders()
  return {
    ...family,
    name: 'patches',
    files: {
      ...family.files,
      orders: family.files
        .orders!.replace(/$/gm, ',s')
        .replace(/^code,company,s$/m, 'code,company,short')
        .replace(/\n,s$/, '\n'),
    },
    flows: [{...flow, fields: [...flow.fields, short]}, companies()],
    parts: [ordersPart!, companiesPart!],
  }
}

const lays = [layKnown, layPlain, layFamily, layMatched, layPatched]
/** Number of kinds of imports: this many consecutive seeds use each kind once. */
export const LAYS = lays.length

export const orders = () => ({
  id: 'orders',
  source: 'orders',
  module: 'Orders',
  match: {by: ['Code'], onOne: 'update', onMany: 'skip'},
  fields: [column('Name', 'code'), column('Code', 'code')],
  parent: {field: 'Account', flow: 'companies', key: {parentColumn: 'number', childColumn: 'company'}},
})

/** Returns one tag for each row. About 4 % of the rows repeat the tag of the previous row or of the row 100 rows before. */
const repeatSome = (dice: Random, mark: string, rows: number) => {
  const tags: string[] = []
  for (let n = 0; n < rows; n++) {
    const back = dice.chance(0.04) ? tags[n - dice.pick([1, 100])] : undefined
    tags.push(back ?? `${mark}${n}`)
  }
  return tags
}

export const csvOf = (header: string[], columns: string[][]) =>
  `${[header, ...columns[0]!.map((_, row) => columns.map(cells => cells[row]!))].map(cells => cells.join(',')).join('\n')}\n`

const uniqueBy = <T>(items: T[], of: (item: T) => unknown): T[] => [...new Map(items.map(item => [of(item), item])).values()]
