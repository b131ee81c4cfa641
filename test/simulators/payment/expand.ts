import {invalid} from './refusals.ts'
import type {SimulatorState} from './simulator-state.ts'
import type {Thing} from './store.ts'

/** The answer with the objects named by `expand` instead of their ids. */
export const expand = (world: SimulatorState, answer: Thing, paths: string[]): Thing => {
  let expanded: any = answer
  for (const path of paths) {
    if (path.split('.').length > 5) throw invalid(`You can only expand up to 4 levels of properties: ${path}`, {param: 'expand'})
    expanded = expandPath(world, expanded, path.split('.'), path)
  }
  return expanded
}

const expandPath = (world: SimulatorState, value: any, [name, ...rest]: string[], path: string): any => {
  if (name === undefined) return value
  if (Array.isArray(value)) return value.map(one => expandPath(world, one, [name, ...rest], path))
  if (value === null || value === undefined) return value
  if (typeof value === 'string') return expandPath(world, world.store.find(value) ?? value, [name, ...rest], path)
  const own = value[name] === undefined ? includable(world, value, name) : value[name]
  if (own === undefined) throw invalid(`This property cannot be expanded (${path}).`, {param: 'expand'})
  const found = typeof own === 'string' ? (world.store.find(own) ?? own) : Array.isArray(own) ? own.map(one => find(world, one)) : own
  return {...value, [name]: rest.length === 0 ? found : expandPath(world, found, rest, path)}
}

const find = (world: SimulatorState, value: any) => (typeof value === 'string' ? (world.store.find(value) ?? value) : value)

/** Lists that are omitted unless requested. */
const includable = (world: SimulatorState, thing: Thing, name: string): Thing | undefined => {
  if (thing.object === 'checkout.session' && name === 'line_items') return world.store.get('~checkout', thing.id)?.line_items
  if (thing.object !== 'invoice' || name !== 'payments') return undefined
  const payments = world.store.all('invoice_payment').filter(payment => payment.invoice === thing.id)
  return list(payments, `/v1/invoice_payments?invoice=${thing.id}`)
}

export const list = (data: unknown[], url: string, more = false): any => ({object: 'list', data, has_more: more, url})
