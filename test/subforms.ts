import assert from 'node:assert/strict'
import type {Org} from './importing.ts'
import {readLog} from './importing.ts'
import {assertLinked, column} from './linking.ts'
import type {World} from './world.ts'

/** Orders, known by their code. */
export const orders = (more: object = {}) => ({
  ...{id: 'orders', source: 'orders', module: 'Orders', match: {by: ['Code'], onOne: 'update', onMany: 'skip'}},
  fields: [column('Name', 'name'), column('Code', 'code')],
  ...more,
})

/** Their lines, each of the order that its `order` names. */
export const lines = (more: object = {}) => ({
  ...{id: 'lines', source: 'lines', module: 'Order_Lines'},
  fields: [column('Product', 'product'), column('Quantity', 'quantity')],
  subform: {field: 'Order_Lines', child: 'Order_Lines', parentFlow: 'orders', key: {parentColumn: 'code', childColumn: 'order'}},
  ...more,
})

export const orderSheet = (codes: string[]) => `name,code\n${codes.map(code => `Order ${code},${code}`).join('\n')}\n`

/** `of`: pairs of an order and a product, in the order of the sheet. */
export const lineSheet = (of: (readonly [string, string] | readonly [string, string, string])[]) =>
  `order,product,quantity\n${of.map(([order, product, quantity = '1']) => `${order},${product},${quantity}`).join('\n')}\n`

export const orderOf = ({crm}: World, code: string): any => crm.records('example', 'Orders').find((one: any) => one.Code === code)

/** As the CRM has them, row by row. */
export const productsOf = (world: World, code: string): string[] =>
  (world.crm.record('example', 'Orders', orderOf(world, code).id)!.Order_Lines ?? []).map((row: any) => row.Product)

/** Every order holds exactly the rows the sheet has of it, in the sheet's order, once. */
export const assertSheets = (world: World, of: (readonly [string, string, string?])[]) => {
  for (const [code, rows] of Map.groupBy(of, ([order]) => order))
    assert.deepEqual(
      productsOf(world, code),
      rows.map(([, product]) => product),
      `the lines of ${code}`,
    )
}

type Ended = {org: Org; path: string; run: any; rows: Record<string, number>}

/** What holds of every run of orders and lines; answers its log. */
export const assertWritten = async (world: World, {org, path, run, rows}: Ended) => {
  const log = await readLog(org.call, `${path}/runs/${run.id}`)
  await assertLinked(world, {run, log, rows})
  return log
}
