import {readFileSync} from 'node:fs'
import {createDocument, type ZodOpenApiPathsObject} from 'zod-openapi'
import type {Config} from '../../shared/config.ts'
import {issuerOf, scope} from '../oauth/metadata.ts'
import type {Route} from '../route.ts'
import {describeOperation, pathOf} from './operation.ts'
import {components} from './refusal-schemas.ts'
import {tags} from './tags.ts'

export type ApiDocument = ReturnType<typeof createDocument>

export const describeApi = (config: Pick<Config, 'PUBLIC_URL'>, routes: readonly Route[]): ApiDocument => {
  const document = createDocument(
    {
      openapi: '3.1.1',
      info,
      servers: [{url: issuerOf(config), description: 'This service'}],
      tags: Object.entries(tags).map(([name, description]) => ({name, description})),
      paths: pathsOf(routes),
      components: {...components, securitySchemes: securitySchemesOf(config)},
    },
    {override: tidy},
  )
  openReferences(document)
  return document
}

/**
 * Removes the pattern of timestamps, which `format` implies. Allows additional keys in responses, so that clients tolerate new keys. The tests use
 * the strict schemas.
 */
const tidy = ({
  jsonSchema,
  io,
}: {
  jsonSchema: {format?: string; pattern?: string; additionalProperties?: unknown}
  io: 'input' | 'output'
}) => {
  if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
  if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
}

/** Removes `additionalProperties: false` beside a `$ref`, because it would refuse every key of the referenced schema. */
const openReferences = (part: unknown): void => {
  if (typeof part !== 'object' || part === null) return
  if ('$ref' in part && 'additionalProperties' in part && part.additionalProperties === false) delete part.additionalProperties
  for (const inner of Object.values(part)) openReferences(inner)
}

const {version} = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {version: string}

const info = {
  title: 'Lading',
  version,
  summary: 'Imports rows from files into a CRM and reports the result of every row',
  license: {name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0'},
  description: `Send \`Authorization: Bearer …\` with every request: an API token for programs, or a session for people.

- Paths are case-sensitive and have no trailing slash.
- Requests and responses are JSON in UTF-8. A JSON body has at most 1 MiB unless the route allows more.
- Errors are \`{error, code}\`, with further keys for some codes. Use \`code\` in programs; \`error\` is for people. Each operation lists its codes.
- Every response has an \`x-request-id\` for support. An \`x-request-id\` that you send is logged as \`callerRequest\`.
- Long operations return 202 with a \`job\` and \`Location\`. With \`Prefer: wait=N\` (at most 60 seconds), they return 200 if the job ends in that time.
- Lists are paged: send \`nextCursor\` as \`cursor\` until it is null.
- \`If-Match\` with the version last read prevents overwriting the changes of others: a write against an older version is refused.
- Timestamps are ISO 8601 in UTC with milliseconds, ids are opaque, and money is a whole number of the smallest unit of its currency.
- New keys may be added to responses at any time. Existing codes and keys keep their meaning.`,
}

const securitySchemesOf = (config: Pick<Config, 'PUBLIC_URL'>) => {
  const issuer = issuerOf(config)
  const flow = {
    authorizationUrl: `${issuer}/oauth/authorize`,
    tokenUrl: `${issuer}/oauth/token`,
    refreshUrl: `${issuer}/oauth/token`,
    scopes: {[scope]: 'Read modules and fields, test expressions'},
  }
  return {
    session: {type: 'http', scheme: 'bearer', description: 'A session of a signed-in person, valid for eight hours'},
    embedToken: {
      type: 'http',
      scheme: 'bearer',
      description: 'A short-lived token for imports of one template. Starts with `lading-embed_`',
    },
    apiToken: {type: 'http', scheme: 'bearer', description: 'An API token with the admin role in its org. Starts with `lading_`'},
    adminToken: {type: 'http', scheme: 'bearer', description: "The operator's ADMIN_TOKEN"},
    mcpClient: {type: 'oauth2', description: 'The access of an authorised MCP client', flows: {authorizationCode: flow}},
  } as const
}

const pathsOf = (routes: readonly Route[]): ZodOpenApiPathsObject => {
  const order = Object.keys(tags)
  const paths: ZodOpenApiPathsObject = {}
  for (const route of routes.toSorted((one, other) => order.indexOf(one.tag) - order.indexOf(other.tag))) {
    const path = pathOf(route)
    paths[path] = {...paths[path], [route.method]: describeOperation(route)}
  }
  return paths
}

export const nameOf = ({method, path}: Pick<Route, 'method' | 'path'>) => `${method.toUpperCase()} ${path}`
