import assert from 'node:assert/strict'
import {column} from './lookups.ts'
import type {TestDeployment} from './test-deployment.ts'

/** Returns a flow of quotes that are matched by their code, which is unique in the CRM. */
export const quotes = (more: object = {}) => ({
  id: 'quotes',
  source: 'quotes',
  module: 'Quotes',
  match: {by: ['Quote_Code'], onOne: 'update', onMany: 'skip', unchanged: 'write'},
  fields: [column('Subject', 'subject'), column('Quote_Code', 'code')],
  ...more,
})

/** Returns a flow of quotes without a unique field, so a lost create can be found only by a search. */
export const plainQuotes = () => ({id: 'quotes', source: 'quotes', module: 'Quotes', fields: [column('Subject', 'subject')]})

/** Returns a flow of quote lines. The column `quote` of the file holds the code of the line's quote. */
export const items = (more: object = {}) => ({
  id: 'items',
  source: 'items',
  module: 'Quoted_Items',
  fields: [
    {field: 'Product_Name', mode: 'search', source: 'product', searchField: 'Product_Name', onNone: 'fail'},
    column('Quantity', 'quantity'),
    column('Description', 'note'),
  ],
  subform: {field: 'Quoted_Items', child: 'Quoted_Items', parentFlow: 'quotes', key: {parentColumn: 'code', childColumn: 'quote'}},
  ...more,
})

export const quoteSheet = (codes: string[]) => `subject,code\n${codes.map(code => `Quote ${code},${code}`).join('\n')}\n`

export type Item = readonly [code: string, note: string, product?: string, quantity?: string]

export const itemSheet = (of: readonly Item[]) =>
  `quote,product,quantity,note\n${of.map(([code, note, product = 'Bolt', quantity = '1']) => `${code},${product},${quantity},${note}`).join('\n')}\n`

/** Creates the product that the lines name by default. */
export const makeProduct = ({crm}: TestDeployment): {id: string} => {
  const [made] = crm.create('example', 'Products', [{Product_Name: 'Bolt'}])
  return {id: String(made!.details.id)}
}

export const quotesOf = ({crm}: TestDeployment, code: string): any[] =>
  crm.records('example', 'Quotes').filter((one: any) => one.Subject === `Quote ${code}`)

/** Returns the notes of a quote's lines in order; null if no quote has the code. */
export const notesOf = (world: TestDeployment, code: string): string[] | null => {
  const found = quotesOf(world, code)
  assert.ok(found.length < 2, `${code} is there once`)
  return found[0] ? world.crm.record('example', 'Quotes', found[0].id)!.Quoted_Items.map((row: any) => row.Description) : null
}

/** Asserts that every quote exists once and has exactly the lines of the sheet, in the same order. */
export const assertQuotes = (world: TestDeployment, of: readonly Item[]) => {
  for (const [code, rows] of Map.groupBy(of, ([code]) => code))
    assert.deepEqual(
      notesOf(world, code),
      rows.map(([, note]) => note),
      `the lines of ${code}`,
    )
}
