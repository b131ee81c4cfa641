import {column, companies} from '../support/lookups.ts'
import {type Case, csvOf, orders, type Part} from './cases.ts'
import type {Random} from './random.ts'

type Shape = {dice: Random; mark: string; rows: number}
export type ChaosFile = {name: string; lay(shape: Shape): Case; imports?: number}

const nothing = {before: [], start: {}}
const number = (mark: string) => (_: unknown, n: number) => `${mark}${n + 1}`

/** Returns the part of accounts with unique numbers. `cells`: the town for each row; a later row with the same number overwrites the town. */
export const accountsPart = (tags: string[], cells: string[], more: Partial<Part> = {}): Part => ({
  flow: 'companies',
  source: 'companies',
  module: 'Accounts',
  field: 'Account_Number',
  unique: true,
  column: 'number',
  tags,
  values: {field: 'Billing_City', cells},
  ...more,
})
export const accountsFile = (tags: string[], cells: string[]) => ({
  companies: csvOf(['name', 'number', 'town'], [tags.map(tag => `Company ${tag}`), tags, cells]),
})
export const accountsFlow = (more: object = {}) =>
  companies({fields: [column('Account_Name', 'name'), column('Account_Number', 'number'), column('Billing_City', 'town')], ...more})

const layUnique = ({mark, rows}: Shape): Case => {
  const tags = Array.from({length: rows}, number(mark))
  const towns = tags.map((_, n) => `Town ${n % 7}`)
  const parts = [accountsPart(tags, towns, {matched: true})]
  return {name: 'unique field', files: accountsFile(tags, towns), flows: [accountsFlow()], parts, ...nothing}
}

const layUnmatched = ({mark, rows}: Shape): Case => {
  const tags = Array.from({length: rows}, number(mark))
  const towns = tags.map((_, n) => `Town ${n % 7}`)
  const flows = [accountsFlow({match: undefined})]
  return {name: 'unique field, no match', files: accountsFile(tags, towns), flows, parts: [accountsPart(tags, towns)], ...nothing}
}

/** Returns an import whose records all exist already. Two rows write each record: adjacent, or half a file apart. */
const layUpdates = ({dice, mark, rows}: Shape): Case => {
  const half = Math.ceil(rows / 2)
  const numbers = Array.from({length: half}, number(mark))
  const tags = dice.chance(0.5) ? [...numbers, ...numbers] : numbers.flatMap(tag => [tag, tag])
  const towns = tags.map((_, n) => `Town ${n}`)
  return {
    name: 'updates only',
    files: accountsFile(tags, towns),
    flows: [accountsFlow()],
    start: {},
    parts: [accountsPart(tags, towns, {matched: true})],
    before: [{module: 'Accounts', records: numbers.map(tag => ({Account_Name: 'Theirs', Account_Number: tag, Billing_City: 'Theirs'}))}],
  }
}

/** Returns a file of leads of twelve companies. Companies and first names repeat; last names and email addresses differ between tags. */
const leadsFile = (tags: string[]) => ({
  leads: csvOf(
    ['company', 'first', 'last', 'mail'],
    [
      tags.map(tag => `Of ${placeOf(tag) % 12}`),
      tags.map(tag => `Ana ${placeOf(tag) % 12}`),
      tags.map(tag => `Ruiz ${tag}`),
      tags.map(mailOf),
    ],
  ),
})
const placeOf = (tag: string) => Number(tag.split('-').at(-1))
export const mailOf = (tag: string) => `${tag}@example.org`
export const leadsFlow = (more: object = {}) => ({
  id: 'leads',
  source: 'leads',
  module: 'Leads',
  ...more,
  fields: [column('Company', 'company'), column('First_Name', 'first'), column('Last_Name', 'last'), column('Email', 'mail')],
})
export const leadsPart = (tags: string[], more: Partial<Part> = {}): Part => ({
  flow: 'leads',
  source: 'leads',
  module: 'Leads',
  field: 'Email',
  unique: false,
  column: 'mail',
  tags: tags.map(mailOf),
  ...more,
})
export const byMail = {match: {by: ['Email'], onOne: 'update', onMany: 'skip'}}

const layPlain = ({dice, mark, rows}: Shape): Case => {
  const tags = Array.from({length: rows}, number(mark)).map((tag, n, all) => (n > 0 && dice.chance(0.04) ? all[n - 1]! : tag))
  return {name: 'nothing unique', files: leadsFile(tags), flows: [leadsFlow()], parts: [leadsPart(tags)], ...nothing}
}

const layMail = ({dice, mark, rows}: Shape): Case => {
  const tags = Array.from({length: rows}, number(mark))
  const theirs = tags.filter(() => dice.chance(0.5)).map(tag => ({Last_Name: 'Theirs', Email: mailOf(tag)}))
  const parts = [leadsPart(tags, {matched: true})]
  const before = [{module: 'Leads', records: theirs}]
  return {name: 'matched by e-mail', files: leadsFile(tags), flows: [leadsFlow(byMail)], parts, before, start: {}}
}

/** Returns an import that repeats some keys: in the next row, ten rows later or fifty rows later. */
const layRepeats = ({dice, mark, rows}: Shape): Case => {
  const tags: string[] = []
  for (let n = 0; n < rows; n++) tags.push((dice.chance(0.25) && tags[n - dice.pick([1, 10, 50])]) || `${mark}${n + 1}`)
  const parts = [leadsPart(tags, {matched: true})]
  return {name: 'duplicate keys', files: leadsFile(tags), flows: [leadsFlow(byMail)], parts, ...nothing}
}

export const writeFamily = ({dice, mark, rows}: Shape): Case => {
  const numbers = Array.from({length: Math.ceil(rows / 3)}, number(mark))
  const codes = Array.from({length: rows - numbers.length}, number(mark))
  const owners = codes.map(() => dice.pick(numbers))
  const towns = numbers.map((_, n) => `Town ${n % 7}`)
  const flow = {flow: 'orders', source: 'orders', module: 'Orders', field: 'Code', column: 'code', unique: true, matched: true}
  return {
    name: 'parents and children',
    files: {...accountsFile(numbers, towns), orders: csvOf(['code', 'company'], [codes, owners])},
    flows: [accountsFlow(), orders()],
    parts: [accountsPart(numbers, towns, {matched: true}), {...flow, tags: codes, parents: {field: 'Account', tags: owners}}],
    ...nothing,
  }
}

/** The kinds of files of the chaos scenario. `imports`: how many imports of equal files run at once; default 1. */
export const CHAOS_FILES: readonly ChaosFile[] = [
  {name: 'unique field', lay: layUnique},
  {name: 'unique field, no match', lay: layUnmatched},
  {name: 'nothing unique', lay: layPlain},
  {name: 'matched by e-mail', lay: layMail},
  {name: 'duplicate keys', lay: layRepeats},
  {name: 'parents and children', lay: writeFamily},
  {name: 'updates only', lay: layUpdates},
  {name: 'two equal imports', lay: layPlain, imports: 2},
]
