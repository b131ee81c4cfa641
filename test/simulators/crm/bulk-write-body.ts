import {CallRefused, refuse} from './answers.ts'
import {type Call, jsonOf} from './call.ts'
import {readCsv} from './csv-text.ts'
import type {Field} from './fields.ts'
import {findLayout, isRequiredBy} from './layouts.ts'
import type {Module} from './modules.ts'

/** A column of the file and its field. `findBy`: the field by which a linked record is found. `fallback`: the value of empty cells. */
export type BulkMapping = {
  column: number | null
  field: Field | null
  name: string
  format: string | null
  findBy: string | null
  fallback: unknown
}
export type BulkWriteBody = {
  operation: 'insert' | 'update' | 'upsert'
  module: Module
  findBy: string | null
  ignoresEmpty: boolean
  mappings: BulkMapping[]
  fileName: string
  header: string[]
  rows: string[][]
  callback: string | null
}

const mostColumns = 200
/** Modules that bulk writes do not support. Source: the vendor's pages of bulk write limits. */
const unsupported = ['Calls', 'Events', 'Notes', 'Attachments', 'Users']
const neverWritten = ['subform', 'multiselectlookup', 'formula', 'autonumber', 'profileimage', 'tag']
const formats = /^(?:yyyy-MM-dd|yyyy\/MM\/dd|MM\/dd\/yyyy|dd\/MM\/yyyy|dd-MM-yyyy|MM-dd-yyyy)( HH:mm:ss| HH:mm)?$/

/**
 * Reads the body of a request that creates a bulk write, and the file it names. Source: the vendor's OpenAPI of bulk writes, operation
 * createBulkWriteJob.
 */
export const readWriteBody = (call: Call): BulkWriteBody => {
  const body = asObject(jsonOf(call)) ?? {}
  const {operation, resource} = body
  if (operation === undefined) throw missing('operation')
  if (!['insert', 'update', 'upsert'].includes(String(operation))) throw refused('INVALID_DATA', {api_name: 'operation'})
  const [given, ...others] = Array.isArray(resource) ? resource.map(asObject) : []
  if (!given) throw missing('resource')
  if (others.length > 0) throw refused('REQUEST_BODY_NOT_SUPPORTED', {json_path: '$.resource[1]'}, 'The stand-in takes one resource')
  const module = readModule(call, asObject(given.module)?.api_name)
  const {fileName, records} = readFile(call, given)
  const [header = [], ...rows] = records
  if (header.length > mostColumns) throw refused('HEADER_LIMIT_EXCEEDED', {limit: mostColumns})
  if (rows.length > call.org.switches.bulkRows) throw refused('LIMIT_EXCEEDED', {limit: call.org.switches.bulkRows})
  const mappings = given.field_mappings == null ? mapHeader(module, header) : mapColumns(module, header, given.field_mappings)
  const findBy = readFindBy(module, String(operation), given.find_by)
  checkMandatory(call, module, String(operation), mappings)
  return {
    operation: operation as BulkWriteBody['operation'],
    module,
    findBy,
    mappings,
    fileName,
    header,
    rows,
    ignoresEmpty: readIgnoresEmpty(call, body, given),
    callback: readCallback(body.callback),
  }
}

const readModule = (call: Call, name: unknown): Module => {
  if (typeof name !== 'string') throw missing('resource[0].module.api_name')
  const module = call.org.modules.get(name)
  if (!module || module.spec.apiSupported === false || module.spec.creatable === false || unsupported.includes(name)) {
    throw refused('MODULE_NOT_AVAILABLE', {}, `Requested module '${name}' is not available.`)
  }
  return module
}

const readFile = ({org}: Call, {file_id: id, file_names: names, type}: Record<string, unknown>) => {
  if (type !== 'data') throw missing('resource[0].type')
  if (id === undefined) throw missing('resource[0].file_id')
  const file = org.bulk.files.get(String(id))
  if (!file) throw refused('FILE_NOT_FOUND', {}, 'improper file id')
  const [fileName, ...others] = Array.isArray(names) ? names.map(String) : []
  const bytes = file.get(fileName ?? '')
  if (fileName === undefined || others.length > 0 || !bytes || !fileName.endsWith('.csv')) {
    throw refused('FILE_NOT_SUPPORTED', {}, 'File not supported for bulk write')
  }
  return {fileName, records: readCsv(bytes.toString())}
}

/**
 * Maps columns by the header, if the body has no mappings. A title such as `Account_Name.id` names a link and the field that finds the
 * record.
 */
const mapHeader = (module: Module, header: string[]): BulkMapping[] =>
  header.map((title, column) => {
    const [name = '', findBy = null] = title.split('.')
    return checkMapping(module, {column, field: module.fields.get(name) ?? null, name, format: null, findBy, fallback: undefined})
  })

const mapColumns = (module: Module, header: string[], given: unknown): BulkMapping[] => {
  if (!Array.isArray(given)) throw refused('INVALID_DATA', {api_name: 'field_mappings'})
  return given.map(asObject).map(mapping => {
    const {api_name: name, index, format, find_by: findBy, default_value: fallback} = mapping ?? {}
    if (typeof name !== 'string') throw missing('resource[0].field_mappings[].api_name')
    if (index === undefined && fallback === undefined) throw missing('resource[0].field_mappings[].index')
    if (index !== undefined && !(Number.isInteger(index) && Number(index) >= 0 && Number(index) < header.length)) {
      throw refused('COLUMN_INDEX_NOT_FOUND', {api_name: name, index})
    }
    return checkMapping(module, {
      column: index === undefined ? null : Number(index),
      field: module.fields.get(name) ?? null,
      name,
      format: format == null ? null : String(format),
      findBy: findBy == null ? null : String(findBy),
      fallback: asObject(fallback)?.value,
    })
  })
}

const checkMapping = (module: Module, mapping: BulkMapping): BulkMapping => {
  const {field, name, format, findBy} = mapping
  if (name === 'id' || name === 'Layout') return mapping
  if (!field?.creatable || neverWritten.includes(field.type)) {
    throw refused('INVALID_FIELD', {}, `invalid mapping. invalid api_name ${name}.`)
  }
  if (format !== null && (!formats.test(format) || !['date', 'datetime'].includes(field.type)))
    throw refused('INVALID_FORMAT', {api_name: name})
  const isLink = ['lookup', 'ownerlookup', 'userlookup'].includes(field.type)
  if (isLink && findBy === null)
    throw refused('MANDATORY_NOT_FOUND', {api_name: name, module: module.name}, 'Required key find_by is not available')
  return mapping
}

const readFindBy = (module: Module, operation: string, given: unknown): string | null => {
  if (given == null) {
    if (operation === 'insert') return null
    throw refused('MANDATORY_NOT_FOUND', {}, 'Required key find_by is not available')
  }
  const name = String(given)
  if (name !== 'id' && !module.uniques.some(field => field.name === name)) throw refused('INVALID_FIELD', {api_name: name})
  return name
}

/**
 * Refuses a job that may create records but does not map a field that the module or its layout requires. A field with a default need not be
 * mapped. Source: a public program that uses bulk writes.
 */
const checkMandatory = ({org}: Call, module: Module, operation: string, mappings: BulkMapping[]) => {
  if (operation === 'update') return
  const named = mappings.find(({name}) => name === 'Layout')?.fallback
  const layout = findLayout(org, module, named) ?? findLayout(org, module, org.names.get(`layout ${module.name}`))
  const required = [...module.fields.values()].filter(field => field.spec.mandatory || (layout && isRequiredBy(layout, field)))
  const lacking = required.find(({name, spec}) => spec.default === undefined && !mappings.some(mapping => mapping.name === name))
  if (!lacking) return
  const message = `All mandatory fields are not mapped for the layout [${lacking.name}]`
  throw refused('MANDATORY_FIELDS_NOT_MAPPED', {api_name: lacking.name}, message)
}

/** Returns whether empty cells are ignored. The vendor's pages put `ignore_empty` beside the resources, its OpenAPI inside each one. */
const readIgnoresEmpty = ({org}: Call, body: Record<string, unknown>, resource: Record<string, unknown>): boolean => {
  const {bulkIgnoreEmpty: place} = org.switches
  return (place !== 'resource' && body.ignore_empty === true) || (place !== 'top' && resource.ignore_empty === true)
}

const readCallback = (given: unknown): string | null => {
  if (given === undefined || given === null) return null
  const {url, method} = asObject(given) ?? {}
  if (method !== 'post') throw refused('INVALID_CALLBACK_METHOD', {supported_callback_methods: ['post']})
  if (!/^https?:$/.test(URL.parse(String(url))?.protocol ?? '')) throw refused('INVALID_CALLBACK_URL', {})
  return String(url)
}

const asObject = (value: unknown): Record<string, unknown> | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null

const missing = (name: string) =>
  refused('MISSING_REQUIRED_KEY', {json_path: `$.${name}`}, `required key ${name.split('.').at(-1)} is not found in request body.`)

const refused = (code: string, details: Record<string, unknown> = {}, message?: string) =>
  new CallRefused(refuse(400, code, details, message))
