import type {Settings} from '../../configuration/settings.ts'
import {usualSettings} from '../../configuration/settings.ts'
import type {DiscoveredModule} from '../../crm/discovered.ts'
import type {Flow, Mapping} from './flow.ts'
import type {SnapshotSource} from './snapshot.ts'

export type DateSettings = Pick<Settings, 'dateFormat' | 'timezone'>
type DatedFlows = {flows: Flow[]; sources: SnapshotSource[]; modules: ReadonlyMap<string, DiscoveredModule>}

/**
 * The date format applies to columns whose date order is decided neither by a person nor by the values. The time zone applies to times without an
 * offset. The default settings add nothing.
 */
export const addDateDefaults = ({flows, sources, modules}: DatedFlows, settings: DateSettings): Pick<DatedFlows, 'flows' | 'sources'> => ({
  flows: addZones(flows, modules, settings),
  sources: settings.dateFormat === usualSettings.dateFormat ? sources : sources.map(source => addFormat(source, settings.dateFormat)),
})

export const addZones = (flows: Flow[], modules: DatedFlows['modules'], settings: Pick<DateSettings, 'timezone'>): Flow[] => {
  const zone = zoneOf(settings)
  return zone === undefined ? flows : flows.map(flow => addZone(flow, modules, zone))
}

/** The time zone of times without an offset. Undefined with the default settings, so such times are refused. */
export const zoneOf = ({timezone}: Pick<DateSettings, 'timezone'>): string | undefined =>
  timezone === usualSettings.timezone ? undefined : timezone

const addZone = (flow: Flow, modules: DatedFlows['modules'], zone: string): Flow => {
  const moments = new Set(modules.get(flow.module)?.fields.flatMap(({apiName, type}) => (type === 'datetime' ? [apiName] : [])))
  const lacksZone = ({field, mode, zone: own}: Mapping) => moments.has(field) && own == null && mode !== 'skip' && mode !== 'search'
  return flow.fields.some(lacksZone) ? {...flow, fields: flow.fields.map(one => (lacksZone(one) ? {...one, zone} : one))} : flow
}

const addFormat = (source: SnapshotSource, dateFormat: string): SnapshotSource => {
  const readings = {...source.readings}
  for (const column of source.columns) if (!readings[column]?.dateOrder) readings[column] = {...readings[column], dateFormat}
  return {...source, readings}
}
