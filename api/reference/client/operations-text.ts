import type {ApiDocument} from '../document.ts'
import {commentText, fieldText, nameText, type TypedSchema, typeText} from './type-text.ts'

type Content = Record<string, {schema?: TypedSchema}>
type Response = {$ref?: string; content?: Content}
type Operation = {
  operationId: string
  summary?: string
  parameters?: {in: string; name: string; required?: boolean; schema?: TypedSchema; description?: string}[]
  requestBody?: {required?: boolean; content: Content}
  responses: Record<string, Response>
}
type LocatedOperation = Operation & {method: string; path: string}
type Components = {schemas?: Record<string, TypedSchema>; responses?: Record<string, Response>}

const json = 'application/json'

const imports = `import type {OperationRow} from './client/bind-operations.ts'
import {hasCode, prepareClient} from './client/open-client.ts'
import type {ApiError} from './http.ts'

export type {ApiClient, OpenClientInput} from './client/open-client.ts'
export type {UploadFileInput, UploadOptions} from './client/upload-file.ts'
export type {RunEvent} from './follow-run.ts'
export {ApiError, Unreachable} from './http.ts'`

const exports = `/** Opens a client of a server. */
export const openLading = prepareClient<OperationMap>(operations)

/** Whether the error is a refusal of the API, with one of the codes if there are any. */
export const isRefusal: <C extends ErrorCode>(error: unknown, ...codes: C[]) => error is ApiError & {code: C} = (
  error,
  ...codes
): error is ApiError & {code: never} => hasCode(error, ...codes)`

/** Returns the text of the generated client module: types of schemas and operations, error codes, and how to call the operations. */
export const operationsText = (document: ApiDocument): string => {
  const components = (document.components ?? {}) as Components
  const operations = listOperations(document)
  const schemas = Object.entries(components.schemas ?? {}).filter(([name]) => name !== 'Refusal')
  return [
    `// Generated from the API document, version ${document.info.version}.`,
    imports,
    ...schemas.map(([name, schema]) => `${commentText(schema.description)}export type ${nameText(name)} = ${typeText(schema)}`),
    `/** A code of the API's errors. */\nexport type ErrorCode = ${typeText(components.schemas?.Refusal?.properties?.code)}`,
    `export type OperationMap = {\n${operations.map(one => typesOf(one, components)).join('\n')}\n}`,
    `const operations: Record<keyof OperationMap, OperationRow> = {\n${operations.map(rowOf).join('\n')}\n}`,
    exports,
    '',
  ].join('\n\n')
}

const listOperations = ({paths = {}}: ApiDocument): LocatedOperation[] =>
  Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item as Record<string, Operation>).map(([method, operation]) => ({...operation, method: method.toUpperCase(), path})),
  )

const rowOf = (operation: LocatedOperation): string => {
  const {operationId, method, path} = operation
  const {isRaw, schema} = answerOf(operation)
  return `  ${operationId}: ${JSON.stringify([method, path, isRaw ? 'raw' : 'json', listIn(schema)?.name ?? null])},`
}

const typesOf = (operation: LocatedOperation, components: Components): string => {
  const {isRaw, types, schema} = answerOf(operation)
  const list = listIn(schema)
  const parts = [
    `input: ${inputOf(operation)}`,
    `answer: ${isRaw ? 'Response' : types}`,
    ...(list ? [`item: ${typeText(list.items)}`] : []),
    `errors: ${errorsOf(operation, components)}`,
  ]
  return `  ${commentText(operation.summary)}${operation.operationId}: {${parts.join('; ')}}`
}

/** Describes the successful answers of an operation. `isRaw`: the answer is a file, a page or a stream. */
const answerOf = ({responses}: Operation) => {
  const good = Object.entries(responses).filter(([status]) => /^2/.test(status))
  const contents = good.map(([, {content = {}}]) => content)
  const schemas = contents.flatMap(content => content[json]?.schema ?? [])
  const isEmpty = contents.some(content => Object.keys(content).length === 0)
  const isRaw = schemas.length === 0 ? !isEmpty : contents.some(content => Object.keys(content).some(type => type !== json))
  const types = [...new Set([...schemas.map(typeText), ...(isEmpty ? ['null'] : [])])].join(' | ') || 'null'
  return {isRaw, types, schema: schemas[0]}
}

/**
 * Returns the array that a paged answer splits into pages; null for an answer without `nextCursor`. If the answer has several arrays, `sources`,
 * `rules` and `groups` are not that one.
 */
const listIn = ({properties = {}}: TypedSchema = {}) => {
  if (!('nextCursor' in properties)) return null
  const arrays = Object.entries(properties).filter(([, {type}]) => type === 'array')
  const [first] = arrays.filter(([name]) => !['sources', 'rules', 'groups'].includes(name) || arrays.length === 1)
  return first ? {name: first[0], items: first[1].items} : null
}

const inputOf = ({operationId, parameters = [], requestBody}: LocatedOperation): string => {
  const own = parameters.filter(one => one.in === 'path' || one.in === 'query')
  const names = own.map(({name}) => name)
  if (new Set([...names, 'body']).size <= names.length) throw new Error(`${operationId} has two parameters of one name`)
  const fields = own.map(({name, required = false, schema = {}, description}) =>
    fieldText(name, {...schema, ...(description && {description})}, required),
  )
  return `{${[...fields, ...(requestBody ? [bodyOf(requestBody)] : [])].join('; ')}}`
}

const bodyOf = ({required = false, content}: NonNullable<Operation['requestBody']>): string => {
  const only = Object.keys(content).length === 1 ? content[json]?.schema : undefined
  return `body${required ? '' : '?'}: ${only ? typeText(only) : 'Blob | Uint8Array | ReadableStream | string'}`
}

const errorsOf = ({responses}: Operation, {responses: shared = {}}: Components): string => {
  const bad = Object.entries(responses).filter(([status]) => /^[45]/.test(status))
  const codes = bad.flatMap(([, response]) => {
    const {content} = response.$ref ? shared[response.$ref.split('/').slice(3).join('/')]! : response
    return (content?.[json]?.schema?.properties?.code?.enum ?? []) as string[]
  })
  return [...new Set(codes)].map(code => JSON.stringify(code)).join(' | ') || 'never'
}
