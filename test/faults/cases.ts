import {column, companies} from '../linking.ts'
import type {Dice} from './dice.ts'

/** The rows of one flow. `tags`: by row, the value its record carries; rows of one tag are one record, or as many as rows where nothing tells them apart. */
export type Part = {
  flow: string
  source: string
  module: string
  field: string
  /** The tag is a unique value: the CRM itself never holds it twice. */
  unique: boolean
  tags: string[]
  /** The column of the file that holds the tags. */
  column: string
  /** The flow matches by the tag and updates what it finds: rows of one tag are one record. */
  matched?: boolean
  /** By row, what it writes into a field that rows of one tag write in turn. */
  values?: {field: string; cells: string[]}
  /** By row, the number of the account it belongs to, and the field that links it. */
  parents?: {field: string; tags: string[]}
}

export type Case = {
  name: string
  files: Record<string, string>
  flows: ({source: string} & Record<string, unknown>)[]
  parts: Part[]
  /** What stands in the CRM before, made by somebody else. */
  before: {module: string; records: Record<string, unknown>[]}[]
  start: {declaredRows?: number}
}

type Shape = {dice: Dice; mark: string; rows: number}

/** What is imported with a seed: in turn with a unique field and without, linked rows, rows that are patched. */
export const layCase = (seed: number, dice: Dice, rows: number): Case => {
  const shape = {dice, mark: `s${seed}-`, rows}
  const laid = lays[seed % lays.length]!(shape)
  // A run that stops at its limit leaves rows out, so only where that is all there is to it.
  return laid.flows.length === 1 && dice.chance(0.2) ? {...laid, start: {declaredRows: Math.floor(rows * 0.8)}} : laid
}

/** Accounts known by their number: some stand in the file twice, some in the CRM already, a few the CRM refuses. */
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

/** Leads that nothing tells apart but what is written in them; some of them are equal. */
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

/** Companies and their orders, each order linked by its company's number. */
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

/** Products matched by a name that is not unique. */
const layMatched = ({dice, mark, rows}: Shape): Case => {
  const tags = repeatSome(dice, mark, rows)
  const known = [...new Set(tags.filter(() => dice.chance(0.02)))].map(tag => ({Product_Name: tag}))
  return {
    name: 'no unique field, matched',
    files: {products: csvOf(['name', 'code'], [tags, tags.map((_, n) => `${n}`)])},
    flows: [
      {
        ...{id: 'products', source: 'products', module: 'Products', match: {by: ['Product_Name'], onOne: 'update', onMany: 'skip'}},
        fields: [column('Product_Name', 'name'), column('Product_Code', 'code')],
      },
    ],
    parts: [{flow: 'products', source: 'products', module: 'Products', field: 'Product_Name', unique: false, column: 'name', tags}],
    before: [{module: 'Products', records: known}],
    start: {},
  }
}

/** Orders before the companies they belong to: linked by a patch when both are there, and one field filled where it is absent. */
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
/** How many kinds there are: as many seeds in a row lay each once. */
export const LAYS = lays.length

export const orders = () => ({
  ...{id: 'orders', source: 'orders', module: 'Orders', match: {by: ['Code'], onOne: 'update', onMany: 'skip'}},
  fields: [column('Name', 'code'), column('Code', 'code')],
  parent: {field: 'Account', flow: 'companies', key: {parentColumn: 'number', childColumn: 'company'}},
})

/** Some rows stand there again: right behind, and a batch later. */
const repeatSome = (dice: Dice, mark: string, rows: number) => {
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
