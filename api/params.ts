import {z} from 'zod'

const org = z.string().describe('The org the bearer opens')
const connection = z.string().describe('The connection: `GET /orgs/{org}/connectors` lists them')
const module = z.string().describe('API name of the module, as the newest discovery read it')
const ofImport = {org, id: z.string().describe('The import')}
const run = z.string().describe('The run')

export const OfOrg = z.object({org})
export const OfImport = z.object(ofImport)
export const OfSource = z.object({...ofImport, source: z.string().describe('The file of the import')})
export const OfImportRun = z.object({...ofImport, run})
export const OfOrgRun = z.object({org, run})
export const OfRunId = z.object({runId: run})
export const OfModule = z.object({org, id: connection, module})

/** Of the settings' routes: which connection is meant where several have a module of one name. */
export const connector = z.string().optional().describe('The connection that is meant, where the org has several')
export const moduleName = z.string().describe('The module, by its key or its API name')
/** What a module that is named so refuses with. */
export const ofNaming = ['MODULE_NOT_FOUND', 'CONNECTION_REQUIRED', 'CONNECTION_NOT_FOUND'] as const

export const OfTemplate = z.object({org, id: z.string().describe('The template')})
export const OfSchedule = OfTemplate.extend({schedule: z.string().describe('The schedule')})
export const OfEndpoint = z.object({org, id: z.string().describe('The webhook endpoint')})
