import type {ErrorObject} from 'ajv'
import {Ajv2020} from 'ajv/dist/2020.js'
import type {Exchange} from '../simulators/crm/exchanges.ts'
import {type Document, escapePart, findOperation, listOperations, type Operation, type Part, partAt} from './openapi.ts'

/** A difference between a message and the documents. `place`: the position in the message. `schema`: the document and the position in it. */
export type Difference = {
  operation: string
  side: 'request' | 'answer'
  status: number | null
  place: string
  schema: string
  message: string
}
export type Checker = {
  request(exchange: Exchange): Difference[]
  answer(exchange: Exchange): Difference[]
  /** Returns the name of the operation in the documents. Null if they do not describe it. */
  operationOf(exchange: Exchange): string | null
}

/**
 * Creates a checker of exchanges with a CRM against OpenAPI documents: path, method, query and body of the request, status and body of the
 * answer.
 */
export const openChecker = (documents: Document[]): Checker => {
  const operations = listOperations(documents)
  const misfits = openSchemas(documents)
  const find = ({method, path}: Exchange) => findOperation(operations, method, path)
  return {
    operationOf(exchange) {
      const operation = find(exchange)
      return operation && nameOf(exchange, operation)
    },
    request(exchange) {
      const operation = find(exchange)
      const about = {operation: nameOf(exchange, operation), side: 'request' as const, status: null}
      if (!operation) return [{...about, place: 'path', schema: '', message: 'no document has this method and path'}]
      return [...checkQuery(operation, exchange, misfits), ...checkRequestBody(operation, exchange, misfits)].map(one => ({
        ...about,
        ...one,
      }))
    },
    answer(exchange) {
      const operation = find(exchange)
      // If no document contains the path, no answer is documented either.
      if (!operation) return []
      const about = {operation: nameOf(exchange, operation), side: 'answer' as const, status: exchange.status}
      return checkAnswer(operation, exchange, misfits).map(one => ({...about, ...one}))
    },
  }
}

type Misfit = Pick<Difference, 'place' | 'schema' | 'message'>
/** Finds where a value does not fit a schema. With `coerce`, a text may be a number or a boolean. */
type Misfits = (document: Document, schema: Part, value: unknown, options?: {coerce?: boolean}) => Misfit[]

const openSchemas = (documents: Document[]): Misfits => {
  const common = {strict: false, validateSchema: false, validateFormats: false, allErrors: true, logger: false} as const
  const [exact, coercing] = [new Ajv2020(common), new Ajv2020({...common, coerceTypes: true})]
  for (const ajv of [exact, coercing]) for (const {name, json} of documents) ajv.addSchema(json, keyOf(name))
  return (document, {pointer}, value, {coerce = false} = {}) => {
    const ajv = coerce ? coercing : exact
    const reference = `${keyOf(document.name)}#${encodeURI(pointer)}`
    const validate = ajv.getSchema(reference) ?? ajv.compile({$ref: reference})
    if (validate(value)) return []
    return tellDeepest(validate.errors ?? []).map(error => ({
      place: error.instancePath || '/',
      schema: `${document.name}#${pointer} ${error.schemaPath}`,
      message: sayError(error),
    }))
  }
}

const keyOf = (name: string) => `https://documents.invalid/${name}`

/** Selects at most 12 errors. If a schema has alternatives, each one has errors, and only those deepest in the value are selected. */
const tellDeepest = (errors: ErrorObject[]) => {
  const depth = ({instancePath}: ErrorObject) => instancePath.split('/').length
  const isChoice = errors.some(({keyword}) => keyword === 'oneOf' || keyword === 'anyOf')
  const deepest = Math.max(...errors.map(depth))
  const told = isChoice ? errors.filter(error => depth(error) >= deepest) : errors
  return told.slice(0, 12)
}

const sayError = ({keyword, message, params}: ErrorObject) => `${keyword}: ${message} ${JSON.stringify(params)}`

const checkQuery = ({document, pointer, json}: Operation, {query}: Exchange, misfits: Misfits): Misfit[] => {
  const declared = (json.parameters ?? []).map((_: unknown, index: number) => partAt(document, `${pointer}/parameters/${index}`)) as Part[]
  const parameters = new Map(declared.filter(({json}) => json.in === 'query').map(part => [part.json.name as string, part]))
  const missing = [...parameters].filter(([name, {json}]) => json.required === true && !query.some(([sent]) => sent === name))
  return [
    ...missing.map(([name, part]) => ({place: `query ${name}`, schema: `${document.name}#${part.pointer}`, message: 'required, not sent'})),
    ...query.flatMap(([name, text]) => {
      const parameter = parameters.get(name)
      if (!parameter) return [{place: `query ${name}`, schema: `${document.name}#${pointer}/parameters`, message: 'no such parameter'}]
      const schema = partAt(document, `${parameter.pointer}/schema`)
      const value = schema.json.type === 'array' ? text.split(',') : text
      return misfits(document, schema, value, {coerce: true}).map(one => ({...one, place: `query ${name}`}))
    }),
  ]
}

const checkRequestBody = ({document, pointer, json}: Operation, {body, contentType}: Exchange, misfits: Misfits): Misfit[] => {
  if (!json.requestBody) return body === '' ? [] : [{place: 'body', schema: `${document.name}#${pointer}`, message: 'takes no body'}]
  const declared = partAt(document, `${pointer}/requestBody`)
  if (body === '' && declared.json.required !== true) return []
  return checkBody(document, declared, {text: body, contentType}, misfits)
}

const checkAnswer = ({document, pointer, json}: Operation, {status, answer}: Exchange, misfits: Misfits): Misfit[] => {
  const key = [String(status), `${String(status)[0]}XX`, 'default'].find(name => json.responses?.[name])
  if (!key)
    return [{place: 'status', schema: `${document.name}#${pointer}/responses`, message: `no answer of status ${status} is described`}]
  return checkBody(document, partAt(document, `${pointer}/responses/${key}`), {text: answer, contentType: 'application/json'}, misfits)
}

type Body = {text: string; contentType: string | null}

const checkBody = (document: Document, declared: Part, {text, contentType}: Body, misfits: Misfits): Misfit[] => {
  const schema = `${document.name}#${declared.pointer}`
  if (!declared.json.content) return text === '' ? [] : [{place: 'body', schema, message: 'has no body'}]
  const type = contentType?.split(';')[0] ?? 'none'
  if (!declared.json.content[type]) return [{place: 'content-type', schema, message: `does not take ${type}`}]
  const value = parse(text)
  if (value === undefined) return [{place: 'body', schema, message: 'is not JSON'}]
  return misfits(document, partAt(document, `${declared.pointer}/content/${escapePart(type)}/schema`), value)
}

const nameOf = ({method, path}: Exchange, operation: Operation | null) => `${method} ${operation?.path ?? path}`

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
