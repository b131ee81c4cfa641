import {z} from 'zod'
import {approveTemplate, readTemplateApproval} from '../../shared/mapping/templates/approval.ts'
import {findVisible} from '../../shared/mapping/templates/find.ts'
import {Answer, Count, Moment, Version} from '../answers/common.ts'
import {PersonNamed} from '../answers/people.ts'
import {templateAskerOf} from '../callers.ts'
import {OfTemplate} from '../params.ts'
import {route} from '../route.ts'

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

const TemplateApprovalRead = Answer({approval: TemplateApproval})

const approval = {
  version: 3,
  approvalAbove: 10_000,
  isApproved: true,
  isAuthor: false,
  approved: {
    version: 3,
    digest: '5f2b8a1c9d3e4f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8',
    at: '2026-03-01T08:30:00.000Z',
    by: {id: 'per_01k9m0v6f8e2r4t7w3y5z1a2b4', name: 'Ana Example'},
  },
}

export default [
  route({
    method: 'get',
    path: '/orgs/:org/templates/:id/approval',
    operationId: 'readTemplateApproval',
    tag: 'Templates',
    access: {role: 'operator'},
    summary: 'Read whether a template is approved for schedules',
    description: 'A schedule may write more rows than `approvalAbove` of the org only with the approved version of its template.',
    answers: {200: TemplateApprovalRead},
    refusals: ['NOT_FOUND'],
    example: {answer: {approval}},
    params: OfTemplate,
    async handle({db, caller, params: {id}}) {
      const template = await findVisible(db, {...templateAskerOf(caller), id})
      return {approval: await readTemplateApproval(db, template, caller.person)}
    },
  }),
  route({
    method: 'post',
    path: '/orgs/:org/templates/:id/approve',
    operationId: 'approveTemplate',
    tag: 'Templates',
    access: {role: 'admin', sessionOnly: 'person'},
    summary: 'Approve a version of a template for schedules',
    description:
      'Schedules of this version may then write any number of rows. A changed template needs a new approval. A person who changed the template since its last approval cannot approve it.',
    answers: {200: TemplateApprovalRead},
    refusals: ['NOT_FOUND', 'TEMPLATE_CONFLICT', 'SELF_APPROVAL'],
    example: {body: {version: 3}, answer: {approval}},
    params: OfTemplate,
    body: z.strictObject({version: z.int().min(1).describe('The version that you have read')}),
    async handle({db, caller, params: {id}, body}) {
      const template = await db.transaction(tx => approveTemplate(tx, templateAskerOf(caller), {id, ...body}))
      return {approval: await readTemplateApproval(db, template, caller.person)}
    },
  }),
]
