import {createHash} from 'node:crypto'
import {z} from 'zod'
import type {Config} from '../../shared/config.ts'
import {File, Nothing} from '../answers/common.ts'
import {type ApiDocument, describeApi} from '../reference/document.ts'
import {openPages} from '../reference/page/page.ts'
import {reply} from '../reply.ts'
import {type Route, route} from '../route.ts'

type OpenedDocument = {bytes: Buffer; tag: string; show: ReturnType<typeof openPages>}

const page = File('text/html', 'A self-contained HTML page')

/** Serves the OpenAPI document and the reference pages. Both are generated from the routes on first use. */
export const describeRoutes = (table: () => readonly Route[]): Route[] => {
  let opened: OpenedDocument | undefined
  const open = (config: Config) => (opened ??= openDocument(describeApi(config, table())))
  return [
    route({
      method: 'get',
      path: '/openapi.json',
      operationId: 'readOpenApi',
      tag: 'Service',
      access: {public: true},
      summary: 'Read the OpenAPI document of this API',
      description: 'OpenAPI 3.1, generated from the schemas that validate requests and responses.',
      answers: {200: {type: 'application/json', what: 'The document', schema: OpenApi}, 304: Nothing('The document has not changed')},
      refusals: [],
      handle({config, request: {headers}}) {
        const {bytes, tag} = open(config)
        const cacheHeaders = {etag: tag, 'cache-control': 'no-cache'}
        if (headers['if-none-match']?.includes(tag)) return reply({status: 304, headers: cacheHeaders})
        return reply({headers: {'content-type': 'application/json; charset=utf-8', ...cacheHeaders}, body: bytes})
      },
    }),

    route({
      method: 'get',
      path: '/reference',
      operationId: 'openReference',
      tag: 'Service',
      access: {public: true},
      summary: 'Show the reference of this API',
      answers: {200: page},
      refusals: [],
      handle: ({config}) => open(config).show(null),
    }),

    route({
      method: 'get',
      path: '/reference/:noun',
      operationId: 'openReferenceOfNoun',
      tag: 'Service',
      access: {public: true},
      summary: 'Show the operations on one kind of object',
      answers: {200: page},
      refusals: ['NOT_FOUND'],
      example: {params: {noun: 'runs'}},
      params: z.object({noun: z.string().describe('The name in lower case, with dashes')}),
      handle: ({config, params: {noun}}) => open(config).show(noun),
    }),
  ]
}

const OpenApi = z.looseObject({
  openapi: z.string().describe('The version of OpenAPI'),
  info: z
    .looseObject({title: z.string().describe('The name of the API'), version: z.string().describe('The version of the API')})
    .describe('Name and version of the API'),
  paths: z.record(z.string(), z.unknown()).describe('The operations, by path'),
})

const openDocument = (document: ApiDocument): OpenedDocument => {
  const bytes = Buffer.from(JSON.stringify(document))
  const tag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
  return {bytes, tag, show: openPages(document)}
}
