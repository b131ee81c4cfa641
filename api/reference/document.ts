import {readFileSync} from 'node:fs'
import {createDocument, type ZodOpenApiPathsObject} from 'zod-openapi'
import type {Config} from '../../shared/config.ts'
import {issuerOf, scope} from '../../shared/oauth/metadata.ts'
import type {Route} from '../route.ts'
import {houseNouns} from './house-nouns.ts'
import {type Noun, orgNouns} from './nouns.ts'
import {describeOperation, pathOf} from './operation.ts'
import {components} from './refusal-schemas.ts'

export type Document = ReturnType<typeof createDocument>

export const nouns: Noun[] = [...orgNouns, ...houseNouns]

/** The OpenAPI 3.1 document of these routes: what they declare of themselves, and nothing that they do not. */
export const describeApi = (config: Pick<Config, 'PUBLIC_URL'>, routes: readonly Route[]): Document => {
  const document = createDocument(
    {
      openapi: '3.1.1',
      info,
      servers: [{url: issuerOf(config), description: 'This service'}],
      tags: nouns.map(({name, says}) => ({name, description: says})),
      paths: pathsOf(routes),
      components: {...components, securitySchemes: securitySchemesOf(config)},
    },
    {override: tidy},
  )
  openReferences(document)
  return document
}

/**
 * `format` says what the pattern of a moment would. An answer may have more keys one day, which whoever holds it against this document is
 * not to trip over; the tests hold it against the schema itself, which takes no other.
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

/** Beside a reference it would refuse every key there is: it knows those beside it alone. Left there where what is referred to is open. */
const openReferences = (part: unknown): void => {
  if (typeof part !== 'object' || part === null) return
  if ('$ref' in part && 'additionalProperties' in part && part.additionalProperties === false) delete part.additionalProperties
  for (const inner of Object.values(part)) openReferences(inner)
}

const {version} = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {version: string}

const info = {
  title: 'Lading',
  version,
  summary: 'Carries rows from files into a CRM and says, row by row, what became of each',
  license: {name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0'},
  description: `Send a bearer with every request: \`Authorization: Bearer …\`, an API token for programs, a session for what a person does.

- An address has one spelling: no other case, no slash at its end.
- JSON goes both ways, in UTF-8. A body of JSON has at most a mebibyte unless a route says otherwise.
- What is refused is answered \`{error, code}\` with more keys by code. Look at \`code\`; \`error\` is for people. Each operation lists all of its codes.
- Every answer has \`x-request-id\`, which support finds it by. An \`x-request-id\` you send is logged beside it as \`callerRequest\`.
- What takes long is answered 202 with a \`job\` and \`Location\`. With \`Prefer: wait=N\` (at most 60 seconds) it is 200 if the job ends in that time.
- Lists are read page by page: give \`nextCursor\` back as \`cursor\` until it is null.
- \`If-Match\` with the version last read keeps two people from writing over each other: whoever comes second is refused.
- Moments are ISO 8601 in UTC to the millisecond, ids are opaque, money is a whole number of the smallest unit of its currency.
- Keys may be added to answers at any time. Codes, keys and what they mean stay.`,
}

const securitySchemesOf = (config: Pick<Config, 'PUBLIC_URL'>) => {
  const issuer = issuerOf(config)
  const flow = {
    authorizationUrl: `${issuer}/oauth/authorize`,
    tokenUrl: `${issuer}/oauth/token`,
    refreshUrl: `${issuer}/oauth/token`,
    scopes: {[scope]: 'Read modules and fields, try expressions'},
  }
  return {
    session: {type: 'http', scheme: 'bearer', description: 'The session of a person who signed in. It lasts eight hours'},
    apiToken: {type: 'http', scheme: 'bearer', description: 'An API token of the org, which is an admin of it. Begins with `lading_`'},
    adminToken: {type: 'http', scheme: 'bearer', description: "The operator's ADMIN_TOKEN"},
    mcpClient: {type: 'oauth2', description: 'What a person let an MCP client do', flows: {authorizationCode: flow}},
  } as const
}

/** By noun, in the order they are told. A route that no noun names is a mistake of its author, which a test finds too. */
const pathsOf = (routes: readonly Route[]): ZodOpenApiPathsObject => {
  const paths: ZodOpenApiPathsObject = {}
  const named = new Map(nouns.flatMap(({name, operations}) => Object.entries(operations).map(([id, at]) => [at, {id, tag: name}] as const)))
  const places = [...named.keys()]
  for (const route of routes.toSorted((one, other) => places.indexOf(nameOf(one)) - places.indexOf(nameOf(other)))) {
    const known = named.get(nameOf(route))
    if (!known) throw new Error(`No noun of the reference has ${nameOf(route)}`)
    const path = pathOf(route)
    paths[path] = {...paths[path], [route.method]: describeOperation(route, known)}
  }
  return paths
}

export const nameOf = ({method, path}: Pick<Route, 'method' | 'path'>) => `${method.toUpperCase()} ${path}`
