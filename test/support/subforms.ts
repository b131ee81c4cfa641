import assert from 'node:assert/strict'
import type {Org} from './importing.ts'
import {readLog} from './importing.ts'
import {assertLinked, column} from './lookups.ts'
import type {TestDeployment} from './test-deployment.ts'

export const orders = (more: object = {}) => ({
  id: 'orders',
  source: 'orders',
  module: 'Orders',
  match: {by: ['Code'], onOne: 'update', onMany: 'skip', unchanged: 'write'},
  fields: [column('Name', 'name'), column('Code', 'code')],
  ...more,
})

/** Returns a flow of order lines. The column `order` names the order of each line. */
export const lines = (more: object = {}) => ({
  id: 'lines',
  source: 'lines',
  module: 'Order_Lines',
  fields: [column('Product', 'product'), column('Quantity', 'quantity')],
  subform: {field: 'Order_Lines', child: 'Order_Lines', parentFlow: 'orders', key: {parentColumn: 'code', childColumn: 'order'}},
  ...more,
})

export const orderSheet = (codes: string[]) => `name,code\n${codes.map(code => `Order ${code},${code}`).join('\n')}\n`

/** Returns a file of order lines. `of`: order, product and optionally quantity of each line. */
export const lineSheet = (of: (readonly [string, string] | readonly [string, string, string])[]) =>
  `order,product,quantity\n${of.map(([order, product, quantity = '1']) => `${order},${product},${quantity}`).join('\n')}\n`

export const orderOf = ({crm}: TestDeployment, code: string): any => crm.records('example', 'Orders').find((one: any) => one.Code === code)

/** Returns the products of an order's lines in the CRM, in order. */
export const productsOf = (world: TestDeployment, code: string): string[] =>
  (world.crm.record('example', 'Orders', orderOf(world, code).id)!.Order_Lines ?? []).map((row: any) => row.Product)

/** Asserts that every order has exactly the lines of the file, once and in order. */
export const assertSheets = (world: TestDeployment, of: (readonly [string, string, string?])[]) => {
  for (const [code, rows] of Map.groupBy(of, ([order]) => order))
    assert.deepEqual(
      productsOf(world, code),
      rows.map(([, product]) => product),
      `the lines of ${code}`,
    )
}

type EndedImport = {org: Org; path: string; run: any; rows: Record<string, number>}

/** Asserts the invariants of a run of orders and lines. Returns its log. */
export const assertWritten = async (world: TestDeployment, {org, path, run, rows}: EndedImport) => {
  const log = await readLog(org.call, `${path}/runs/${run.id}`)
  await assertLinked(world, {run, log, rows})
  return log
}
