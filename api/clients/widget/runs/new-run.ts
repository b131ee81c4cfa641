import type {Field} from '../imports/fields.ts'
import type {Flow, Imported} from '../imports/import.ts'
import {isAlwaysFilled, recommendMatch} from '../imports/recommend-match.ts'
import {listWords} from '../text/language.ts'
import {sayName} from '../ui/labels.ts'

/** A flow whose written rows a new run would create again. `matchBy`: a match field that would prevent this, or null if there is none. */
type RepeatingFlow = {flow: string; module: string; matchBy: Field | null}
type MappedImport = Pick<Imported, 'flows' | 'sources'>

/**
 * Lists the flows whose written rows a new run over all rows would create again. A flow is safe if every row finds its record. That
 * requires match fields that no row leaves empty, because a row without a match value creates a record. Subform rows are replaced with
 * their parent, so their flows are safe.
 */
export const findRepeatingFlows = (found: MappedImport, fields: ReadonlyMap<string, Field[]> = new Map()): RepeatingFlow[] =>
  found.flows
    .filter(flow => !flow.subform && !findsEveryRecord(found, flow))
    .map(flow => ({flow: flow.id, module: flow.module, matchBy: recommendFilled(found, flow, fields.get(flow.module) ?? [])}))

const findsEveryRecord = (found: MappedImport, flow: Flow): boolean =>
  flow.match != null && flow.match.onOne !== 'create' && flow.match.by.every(name => isAlwaysFilled(flow, sourceOf(found, flow), name))

const sourceOf = ({sources}: MappedImport, {sourceId}: Flow) => sources.find(({id}) => id === sourceId)

const recommendFilled = (found: MappedImport, flow: Flow, fields: readonly Field[]): Field | null => {
  const source = sourceOf(found, flow)
  return recommendMatch(
    flow,
    source,
    fields.filter(({apiName}) => isAlwaysFilled(flow, source, apiName)),
  )
}

export const sayModules = (flows: readonly Pick<RepeatingFlow, 'module'>[]): string =>
  listWords([...new Set(flows.map(({module}) => sayName(module)))])
