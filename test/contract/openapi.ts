import {readdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'

export type Json = Record<string, any>
export type Document = {name: string; json: Json}
/** An operation of a document. `path`: its URL path. `pointer`: its position in the document. */
export type Operation = {document: Document; method: string; path: string; parts: string[]; pointer: string; json: Json}
/** A part of a document and its pointer, after references were followed. */
export type Part = {json: Json; pointer: string}

const methods = ['get', 'post', 'put', 'patch', 'delete']

/** Reads every JSON document below a folder. */
export const readDocuments = (folder: string): Document[] =>
  readdirSync(folder, {recursive: true, encoding: 'utf8'})
    .filter(name => name.endsWith('.json'))
    .toSorted()
    .map(name => ({name, json: JSON.parse(readFileSync(join(folder, name), 'utf8'))}))

/** Lists the operations of all documents. If several documents describe an operation, the one with the newest OpenAPI version wins. */
export const listOperations = (documents: Document[]): Operation[] => {
  const newestFirst = documents.toSorted((one, other) => String(other.json.openapi).localeCompare(String(one.json.openapi)))
  const all = newestFirst.flatMap(operationsOf)
  const shape = ({method, parts}: Operation) => `${method} ${parts.map(part => (isVariable(part) ? '{}' : part)).join('/')}`
  return all.filter((one, index) => all.findIndex(other => shape(other) === shape(one)) === index)
}

const operationsOf = (document: Document): Operation[] =>
  Object.entries<Json>(document.json.paths ?? {}).flatMap(([name, operations]) =>
    methods.flatMap(method => {
      const json = operations[method]
      if (!json) return []
      const path = `${basePath(document)}${name}`
      const pointer = `/paths/${escapePart(name)}/${method}`
      return [{document, method: method.toUpperCase(), path, parts: path.split('/'), pointer, json}]
    }),
  )

/** Returns the path of the first server, with the defaults of its variables. */
const basePath = ({json}: Document) => {
  const {url = '', variables = {}} = json.servers?.[0] ?? {}
  const whole = String(url).replaceAll(/\{(\w+)\}/g, (_, name) => String(variables[name]?.default ?? name))
  return whole.replace(/^https?:\/\/[^/]+/, '').replace(/\/$/, '')
}

/** Returns the operation that matches the path with the most fixed parts, or null. */
export const findOperation = (operations: Operation[], method: string, path: string): Operation | null => {
  const asked = path.replace(/\/$/, '').split('/')
  const matches = operations.filter(
    one =>
      one.method === method &&
      one.parts.length === asked.length &&
      one.parts.every((part, index) => isVariable(part) || part === asked[index]),
  )
  const fixed = ({parts}: Operation) => parts.filter(part => !isVariable(part)).length
  return matches.toSorted((one, other) => fixed(other) - fixed(one))[0] ?? null
}

/** Returns a part of a document. Throws if the document does not have it. */
export const partAt = (document: Document, pointer: string): Part => {
  let [json, at]: [any, string] = [document.json, '']
  for (const part of pointer.split('/').slice(1)) {
    ;[json, at] = follow(document, json, at)
    json = json?.[unescapePart(part)]
    at += `/${part}`
  }
  ;[json, at] = follow(document, json, at)
  if (json === undefined) throw new RangeError(`${document.name} has no ${pointer}`)
  return {json, pointer: at}
}

const follow = (document: Document, json: any, pointer: string): [any, string] => {
  const reference = json?.$ref
  if (typeof reference !== 'string' || !reference.startsWith('#/')) return [json, pointer]
  const part = partAt(document, reference.slice(1))
  return [part.json, part.pointer]
}

export const escapePart = (part: string) => part.replaceAll('~', '~0').replaceAll('/', '~1')
const unescapePart = (part: string) => part.replaceAll('~1', '/').replaceAll('~0', '~')
const isVariable = (part: string) => part.startsWith('{')
