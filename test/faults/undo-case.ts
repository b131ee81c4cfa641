import {column} from '../support/lookups.ts'
import {lines} from '../support/subforms.ts'
import {csvOf, orders} from './cases.ts'
import type {Random} from './random.ts'

/** Shares of an import's rows by file; the subform rows are the rest. */
const [ofCompanies, ofPeople, ofOrders] = [0.3, 0.25, 0.25]

export type UndoCase = {
  files: Record<string, string>
  flows: ({source: string} & Record<string, unknown>)[]
  /** Records that exist before the import. A `link` names an account of an earlier entry by its number. */
  before: {module: string; records: (Record<string, unknown> & {link?: {field: string; number: string}})[]}[]
}

/**
 * Returns an import of companies, people linked to companies, orders linked to companies by a patch, and rows of the orders' subform. About half
 * of the companies, people and orders exist before the import.
 */
export const writeUndoCase = (dice: Random, mark: string, rows: number): UndoCase => {
  const list = (share: number) => Array.from({length: Math.max(3, Math.round(rows * share))}, (_, n) => `${mark}${n}`)
  const [numbers, mails, codes] = [list(ofCompanies), list(ofPeople).map(name => `${name}@x.example`), list(ofOrders)]
  const known = numbers.filter(() => dice.chance(0.5))
  const lined = list(1 - ofCompanies - ofPeople - ofOrders).map(() => dice.pick(codes))
  const cities = numbers.map(() => dice.pick(['Bern', 'Basel', '']))
  const flow = orders()
  return {
    files: {
      orders: csvOf(['code', 'company', 'short'], [codes, codes.map(() => dice.pick(numbers)), codes.map((_, n) => `s${n}`)]),
      companies: csvOf(['name', 'number', 'city'], [numbers.map(number => `Company ${number}`), numbers, cities]),
      people: csvOf(['last', 'mail', 'company'], [mails.map((_, n) => `Last ${n}`), mails, mails.map(() => dice.pick(numbers))]),
      lines: csvOf(
        ['order', 'product', 'quantity'],
        [lined, lined.map((_, n) => `Product ${n}`), lined.map(() => String(dice.between(1, 9)))],
      ),
    },
    flows: [
      {...flow, fields: [...flow.fields, column('Short', 'short', {patch: {overwrite: 'always'}})]},
      {
        id: 'companies',
        source: 'companies',
        module: 'Accounts',
        match: {by: ['Account_Number'], onOne: 'update', onMany: 'skip'},
        fields: [column('Account_Name', 'name'), column('Account_Number', 'number'), column('Billing_City', 'city', {empty: 'clear'})],
      },
      {
        id: 'people',
        source: 'people',
        module: 'Contacts',
        match: {by: ['Email'], onOne: 'update', onMany: 'skip'},
        fields: [column('Last_Name', 'last'), column('Email', 'mail')],
        parent: {field: 'Account_Name', flow: 'companies', key: {parentColumn: 'number', childColumn: 'company'}},
      },
      lines(),
    ],
    before: listBefore(dice, {known, mails, codes}),
  }
}

type Names = {known: string[]; mails: string[]; codes: string[]}

const listBefore = (dice: Random, {known, mails, codes}: Names): UndoCase['before'] => {
  const linkTo = (field: string) => dice.chance(0.5) && known.length > 0 && {link: {field, number: dice.pick(known)}}
  const half = (names: string[]) => names.filter(() => dice.chance(0.5))
  return [
    {
      module: 'Accounts',
      records: known.map((number, n) => ({
        Account_Name: `Old ${n}`,
        Account_Number: number,
        Phone: '1',
        Billing_City: dice.pick(['Old Town', 'Bern', null]),
      })),
    },
    {module: 'Contacts', records: half(mails).map((Email, n) => ({Last_Name: `Old ${n}`, Email, ...linkTo('Account_Name')}))},
    {
      module: 'Orders',
      records: half(codes).map((Code, n) => ({
        Name: `Old ${n}`,
        Code,
        Short: dice.pick(['old', null]),
        ...linkTo('Account'),
        Order_Lines: Array.from({length: dice.between(0, 3)}, (_, row) => ({Product: `Old ${row}`, Quantity: row, Note: 'n'})),
      })),
    },
  ]
}
