import {useRef} from 'preact/hooks'
import {type Sample, sampleOf} from '../../sample.ts'
import {embed} from '../state/embed.ts'
import {type Loaded, useLoad} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {sayName} from '../ui/labels.ts'
import type {Field, Module} from './fields.ts'
import type {Imported, Source} from './import.ts'

export type FieldsOf = ReadonlyMap<string, Field[]>

/** Loads the writable modules of a connection, subforms included. */
export const useModules = (connector: string): Loaded<Module[]> =>
  useLoad(
    async signal => {
      const {modules} = await client.get(inOrg('/config/modules'), {connector}, signal)
      return (modules as Module[]).filter(({removed, creatable, kind}) => !removed && (creatable || kind === 'subform'))
    },
    [connector],
  )

/** Returns a function that gives the label of a module. Without a connection, or until the labels are loaded, it gives the API name in words. */
export const useModuleLabels = (connector: string | null): ((module: string) => string) => {
  const {data} = useLoad<Module[]>(
    async signal => (connector === null ? [] : (await client.get(inOrg('/config/modules'), {connector}, signal)).modules),
    [connector],
  )
  return module => data?.find(({apiName}) => apiName === module)?.label ?? sayName(module)
}

/** Loads the fields of the modules. Loaded fields are cached, so an additional module costs one request. */
export const useFields = (connector: string, names: readonly string[]): Loaded<FieldsOf> => {
  const read = useRef(new Map<string, Field[]>())
  const wanted = [...new Set(names)].toSorted()
  return useLoad(
    async signal => {
      for (const name of wanted) {
        // An embed token may not read settings. The embed session contains the labels instead.
        if (embed.value) continue
        if (read.current.has(name)) continue
        const {fields} = await client.get(inOrg(`/config/fields/${encodeURIComponent(name)}`), {connector}, signal)
        read.current.set(name, fields)
      }
      return new Map(read.current)
    },
    [connector, wanted.join(' ')],
  )
}

/** Returns a function that gives the label of a field of these modules. Until the labels are loaded, it gives the API name in words. */
export const useFieldLabels = (connector: string, names: readonly string[]): ((module: string, field: string) => string) => {
  const {data} = useFields(connector, names)
  return (module, field) =>
    embed.value?.modules[module]?.fields[field] ?? data?.get(module)?.find(({apiName}) => apiName === field)?.label ?? sayName(field)
}

/** Returns a function that gives the label of a field of a flow. While `isNeeded` is false, it loads nothing. */
export const useFlowFieldLabels = ({connectorId, flows}: Imported, isNeeded: boolean): ((flow: string | null, field: string) => string) => {
  const moduleOf = (flow: string | null) => flows.find(({id}) => id === flow)?.module
  const sayField = useFieldLabels(connectorId, isNeeded ? flows.map(({module}) => module) : [])
  return (flow, field) => sayField(moduleOf(flow) ?? '', field)
}

export const useSample = (importId: string, source: Source): Loaded<Sample> =>
  useLoad(
    async signal => {
      const path = inOrg(`/imports/${importId}/sources/${source.id}/rows`)
      const {columns, rows} = await client.get(path, {limit: 50}, signal)
      return sampleOf(columns, rows)
    },
    [importId, source.id, JSON.stringify([source.reader, source.cleaning])],
  )
