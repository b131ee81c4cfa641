import {z} from 'zod'
import {validateTemplate as validate} from '../../shared/mapping/templates/validate.ts'
import {tool} from './tool.ts'

const Problem = z.object({
  kind: z.string(),
  flow: z.string().optional(),
  module: z.string().optional(),
  field: z.string().optional(),
  stops: z.boolean().describe('True: imports of the template would not start'),
  message: z.string(),
})

export const validateTemplate = tool({
  name: 'validate_template',
  title: 'Validate a template',
  description: 'Validates an import template, also against the current fields of the connection. Nothing is saved.',
  input: z.strictObject({
    template: z.record(z.string(), z.unknown()).describe('The document, in the form of POST /orgs/{org}/templates'),
    connector: z.string().max(100).optional().describe('The connection to check against, instead of the template’s own'),
  }),
  output: z.object({
    valid: z.boolean(),
    issues: z.array(z.object({path: z.string(), message: z.string()})),
    problems: z.array(Problem),
    connector: z.string().nullable(),
    discoveredAt: z.string().nullable().describe('When the fields were read from the CRM. Null: only the document was checked'),
  }),
  async run({db, caller: {org}}, {template, connector}) {
    const {valid, issues, problems, connectorId, discovery} = await validate(db, {org, document: template, connector})
    const problemList = problems.map(({kind, flow, module, field, stops, message}) => ({
      kind,
      stops,
      message,
      ...(flow !== undefined && {flow}),
      ...(module !== undefined && {module}),
      ...(field !== undefined && {field}),
    }))
    return {valid, issues, problems: problemList, connector: connectorId, discoveredAt: discovery?.createdAt ?? null}
  },
})
