import {z} from 'zod'
import {sql} from '../../sql/database.ts'
import {ok, openOrg} from './importing.ts'
import type {TestDeployment} from './test-deployment.ts'

/** Creates an org with runs that replace the lines of orders. */
export const openOrders = async (world: TestDeployment, user?: string) => {
  const org = await openOrg(world, user)
  const key = user?.endsWith('@other.example') ? 'other' : 'example'
  const path = (module = 'Orders', connector = org.connector) => `/orgs/${org.org}/connectors/${connector}/records/${module}/rows`

  const authorise = async (declaredRows = 1_000, connectorId: string | undefined = org.connector): Promise<string> =>
    (await ok(org.call('POST', '/entitlements/runs/authorise', {declaredRows, connectorId}), 200)).runId

  const makeOrder = (lines: number | string[] = 0): string => {
    const products = Array.isArray(lines) ? lines : Array.from({length: lines}, (_, n) => `Old ${n + 1}`)
    const [made] = world.crm.create(key, 'Orders', [{Name: 'An order', Order_Lines: products.map(Product => ({Product}))}])
    return made!.details.id as string
  }
  const productsOf = (id: string): string[] => world.crm.record(key, 'Orders', id)!.Order_Lines.map((row: any) => row.Product)

  /** Returns a request body. Each item has a new `writeId`, unless the test sets one. */
  const bodyOf = (runId: string, items: object[], more: object = {}) => ({
    runId,
    field: 'Order_Lines',
    child: 'Order_Lines',
    items: items.map(item => ({writeId: `w${++writes}`, ...item})),
    ...more,
  })
  const replace = (runId: string, items: object[], more: object = {}, headers: Record<string, string> = {}) =>
    org.call('PUT', path(), bodyOf(runId, items, more), headers)
  const results = async (runId: string, items: object[], more?: object): Promise<any[]> =>
    (await ok(replace(runId, items, more), 200)).results

  const puts = () => world.crm.journal({method: 'PUT', path: '/crm/v8/Orders'})
  const reads = () => world.crm.journal({method: 'GET', path: '/crm/v8/Orders/'})
  return {...org, path, authorise, makeOrder, productsOf, bodyOf, replace, results, puts, reads}
}
export type Orders = Awaited<ReturnType<typeof openOrders>>

let writes = 0

/** Returns subform rows: one per product, with distinct keys. */
export const sheet = (...products: string[]) =>
  products.map((Product, n) => ({rowKey: `f.${Product}`, rowNumber: n + 1, payload: {Product}}))

const Meter = z.object({counted: z.number(), admissions: z.number(), sends: z.number(), questions: z.number(), state: z.string()})

/** Reads the counters of a run: rows counted and admitted, batches in flight, and unsettled rows. */
export const meterOf = ({db}: TestDeployment, runId: string) =>
  db.one(sql.type(Meter)`
    select counted, state, (select count(*) from admissions a where a.run_no = r.run_no) as admissions,
      (select count(*) from sends s where s.run_no = r.run_no) as sends, (select count(*) from unsettled u where u.run_no = r.run_no) as questions
    from runs r join run_heads using (run_no) where id = ${runId}`)

const Entry = z.object({
  seq: z.number(),
  key: z.string(),
  number: z.number().nullable(),
  module: z.string(),
  flow: z.string().nullable(),
  attempt: z.number(),
  recordId: z.string().nullable(),
  outcome: z.number(),
  code: z.string().nullable(),
  message: z.string().nullable(),
})

export const logOf = ({db}: TestDeployment, runId: string) =>
  db.any(sql.type(Entry)`
    select seq, row_key as key, row_number as number, m.name as module, f.name as flow, attempt, record_id as "recordId", l.outcome, code, message
    from log_entries l join runs r using (run_no) join run_names m on m.run_no = l.run_no and m.kind = 'module' and m.no = module_no
    left join run_names f on f.run_no = l.run_no and f.kind = 'flow' and f.no = flow_no
    where r.id = ${runId} order by seq`)

export const parentOf = ({db}: TestDeployment, runId: string, key: string) =>
  db.maybeOneFirst(sql.type(z.object({parent: z.string().nullable()}))`
    select parent_key as parent from admissions join runs using (run_no) where id = ${runId} and row_key = ${key}`)
