import {z} from 'zod'
import {Answer, Count, Moment, Version} from './common.ts'
import {PersonNamed} from './people.ts'

const TemplateApproval = Answer({
  version: Version('The current version of the template'),
  approvalAbove: Count('Rows')
    .nullable()
    .describe('The most rows that a schedule may write without an approved version. Null: no run of the org needs approval'),
  isApproved: z.boolean().describe('Whether the current version is approved for schedules'),
  isAuthor: z.boolean().describe('Whether you changed the template since its last approval, so that another admin must approve it'),
  approved: Answer({
    version: Version('The approved version'),
    digest: z.string().meta({description: 'The digest of the approved files and flows, in hex', examples: ['5f2b…']}),
    at: Moment('When it was approved'),
    by: PersonNamed.nullable().describe('The admin who approved it. Null: erased'),
  })
    .nullable()
    .describe('The last approved version. Null: none'),
}).meta({id: 'TemplateApproval', description: 'Whether schedules may run this version of a template for any number of rows'})

export const TemplateApprovalRead = Answer({approval: TemplateApproval})
