import {useRef} from 'preact/hooks'
import {type Loaded, useLoad} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import type {Field, Module} from './flows.ts'
import type {Source} from './import.ts'

export type FieldsOf = ReadonlyMap<string, Field[]>

/** Modules of a connection that can be written, those of subforms among them. */
export const useModules = (connector: string): Loaded<Module[]> =>
  useLoad(
    async signal => {
      const {modules} = await client.get(inOrg('/config/modules'), {connector}, signal)
      return (modules as Module[]).filter(({removed, creatable, kind}) => !removed && (creatable || kind === 'subform'))
    },
    [connector],
  )

/** The fields of some modules; what was read stays, so that one more module costs one request. */
export const useFields = (connector: string, names: readonly string[]): Loaded<FieldsOf> => {
  const read = useRef(new Map<string, Field[]>())
  const wanted = [...new Set(names)].toSorted()
  return useLoad(
    async signal => {
      for (const name of wanted) {
        if (read.current.has(name)) continue
        const {fields} = await client.get(inOrg(`/config/fields/${encodeURIComponent(name)}`), {connector}, signal)
        read.current.set(name, fields)
      }
      return new Map(read.current)
    },
    [connector, wanted.join(' ')],
  )
}

/** Some rows of a file, for proposals and previews. */
export type Sample = {columns: string[]; rows: string[][]}
const sampleRows = 20
const longestCell = 1000
const mostColumns = 500

export const useSample = (importId: string, source: Source): Loaded<Sample> =>
  useLoad(
    async signal => {
      const path = inOrg(`/imports/${importId}/sources/${source.id}/rows`)
      const {columns, rows} = await client.get(path, {limit: 50}, signal)
      const whole = (rows as {values: string[]; struck: string | null; ragged: boolean}[]).filter(
        ({struck, ragged}) => struck === null && !ragged,
      )
      const cut = (values: string[]) => values.slice(0, mostColumns).map(cell => cell.slice(0, longestCell))
      return {columns: columns.slice(0, mostColumns), rows: whole.slice(0, sampleRows).map(({values}) => cut(values))}
    },
    [importId, source.id, JSON.stringify([source.reader, source.cleaning])],
  )
