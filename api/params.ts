import {z} from 'zod'

const org = z.string().describe('The org of the session or token')
const connection = z.string().describe('The connection. `GET /orgs/{org}/connectors` lists connections')
const module = z.string().describe('API name of the module, as of the latest discovery')
const ofImport = {org, id: z.string().describe('The import')}
const run = z.string().describe('The run')

export const OfOrg = z.object({org})
export const OfImport = z.object(ofImport)
export const OfSource = z.object({...ofImport, source: z.string().describe('The file of the import')})
export const OfColumn = OfSource.extend({column: z.string().describe('Name of the column after cleaning, percent-encoded')})
export const OfImportRun = z.object({...ofImport, run})
export const OfOrgRun = z.object({org, run})
export const OfRunId = z.object({runId: run})
export const OfModule = z.object({org, id: connection, module})

export const connector = z.string().optional().describe('The connection. Required only if several connections have a module of this name')
export const moduleName = z.string().describe('The module, by key or API name')
/** Refusals of routes that find a module by its name. */
export const ofNaming = ['MODULE_NOT_FOUND', 'CONNECTION_REQUIRED', 'CONNECTION_NOT_FOUND'] as const

export const OfTemplate = z.object({org, id: z.string().describe('The template')})
export const OfSchedule = OfTemplate.extend({schedule: z.string().describe('The schedule')})
export const OfFiring = OfSchedule.extend({firing: z.string().describe('The firing')})
export const OfEndpoint = z.object({org, id: z.string().describe('The webhook endpoint')})

export const RowNumbers = z
  .string()
  .regex(/^[1-9]\d{0,9}(,[1-9]\d{0,9}){0,199}$/, 'Send at most 200 row numbers, separated by commas')
  .transform(text =>
    text
      .split(',')
      .map(Number)
      .toSorted((a, b) => a - b),
  )
