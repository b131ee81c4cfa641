import type {Records} from './agreement.ts'
import {type NameReading, type Neighbours, readMeanings, readNeighbours} from './meaning.ts'
import type {MatchField, MatchReason} from './propose.ts'
import {normalForm} from './words.ts'

/**
 * A mapping that members of the org accepted before. `header` is the column's name in normal form (`normalForm`); `times` is the number of
 * acceptances.
 */
export type AcceptedName = {header: string; module?: string | null; field: string; times: number}

/** A field with its names analysed. `isClosed`: the field cannot be written, and is listed so that its column is not mapped to another field. */
export type MatchableField = {
  field: MatchField
  isClosed: boolean
  /** The field's own names in normal form, each with the reason of a match by this name. */
  names: Map<string, MatchReason>
  /** Headers for which this field was accepted most often. */
  accepted: ReadonlySet<string>
  readings: NameReading[]
  words: string[][]
  options: ReadonlySet<string>
  records: Records
}

/** Types of fields that the CRM sets itself or that files cannot fill. */
const closedTypes = new Set(['formula', 'autonumber', 'profileimage', 'imageupload', 'fileupload', 'subform', 'rollup_summary'])
const systemNames = new Set([
  'id',
  'created_by',
  'modified_by',
  'created_time',
  'modified_time',
  'last_activity_time',
  'tag',
  'layout',
  'record_image',
])

const nothing: ReadonlySet<string> = new Set()

const isClosed = ({apiName, dataType, readOnly}: MatchField) =>
  readOnly === true || closedTypes.has(dataType) || systemNames.has(apiName.toLowerCase()) || /__s$/i.test(apiName)

export const readFields = (fields: readonly MatchField[], accepted: readonly AcceptedName[]): MatchableField[] => {
  const recordsOf = readModules(fields)
  const taken = readAccepted(accepted)
  const beside = new Map<string, Neighbours>()
  for (const module of new Set(fields.map(field => field.module ?? ''))) {
    const labels = fields.filter(field => (field.module ?? '') === module).map(({label}) => label)
    beside.set(module, readNeighbours(labels, recordsOf.get(module)!.has('person')))
  }
  return fields.map(field => {
    const module = field.module ?? ''
    const names = namesOf(field)
    return {
      field,
      names,
      isClosed: isClosed(field),
      records: recordsOf.get(module)!,
      accepted:
        (isClosed(field) ? undefined : (taken.get(placeOf(module, field.apiName)) ?? taken.get(placeOf('', field.apiName)))) ?? nothing,
      readings: names.size === 0 ? [] : readField(field, beside.get(module)!),
      words: [...names.keys()].map(name => name.split(' ')),
      options: new Set((field.picklist ?? []).flatMap(({display, actual}) => [normalForm(display), normalForm(actual)])),
    }
  })
}

const namesOf = ({label, apiName, localLabels = []}: MatchField): Map<string, MatchReason> => {
  const names = new Map<string, MatchReason>()
  const add = (name: string, why: MatchReason) => {
    const form = normalForm(name)
    for (const spelling of [form, form.replaceAll(' ', '')]) if (spelling !== '' && !names.has(spelling)) names.set(spelling, why)
  }
  add(label, 'label')
  add(apiName, 'apiName')
  for (const local of localLabels) add(local, 'localLabel')
  return names
}

/** Returns the possible meanings of all the field's names. Of an ambiguous name, only the likely meanings are returned. */
const readField = ({label, apiName, localLabels = []}: MatchField, neighbours: Neighbours): NameReading[] => {
  const readings = new Map<string, NameReading>()
  const spellings = new Map([label, apiName, ...localLabels].map(name => [normalForm(name), name]))
  for (const name of spellings.values()) {
    const all = readMeanings(name, neighbours)
    for (const reading of all) {
      if (reading.weight < (all[0]?.weight ?? 0) * 0.85) continue
      const key = JSON.stringify([reading.about, reading.kinds, reading.of, reading.nth, reading.rest])
      if (!readings.has(key)) readings.set(key, {...reading, weight: 1})
    }
  }
  return [...readings.values()]
}

const readModules = (fields: readonly MatchField[]): Map<string, Records> => {
  const modules = new Map<string, Records>()
  const alone: Neighbours = {
    firstname: false,
    lastname: false,
    jobtitle: false,
    source: false,
    owner: false,
    stage: false,
    place: false,
    person: false,
    languages: 0,
    spoken: 0,
  }
  for (const {module = ''} of fields) {
    if (!modules.has(module)) modules.set(module, new Set(readMeanings(module, alone)[0]?.of ?? []))
  }
  return modules
}

const placeOf = (module: string, field: string) => `${module}\n${field}`

/** In each module, assigns each header to the field that it was accepted for most often; ties go to the first field by name. */
const readAccepted = (accepted: readonly AcceptedName[]): Map<string, Set<string>> => {
  const best = new Map<string, AcceptedName>()
  for (const one of accepted) {
    const key = `${one.module ?? ''}\n${one.header}`
    const before = best.get(key)
    if (!before || one.times > before.times || (one.times === before.times && one.field < before.field)) best.set(key, one)
  }
  const byField = new Map<string, Set<string>>()
  for (const {header, module, field} of best.values()) {
    const place = placeOf(module ?? '', field)
    byField.set(place, (byField.get(place) ?? new Set()).add(header))
  }
  return byField
}
