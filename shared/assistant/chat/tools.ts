import type {Pool} from '../../../sql/database.ts'
import type {Parsing} from '../../files/parser/pool.ts'
import {explainIssue} from './explain-issue.ts'
import {getSchema} from './get-schema.ts'
import {proposeMapping} from './propose-mapping.ts'
import {testExpression} from './test-expression.ts'
import type {ChatTool} from './tool.ts'

export const chatTools = ({db, parsing}: {db: Pool; parsing: Parsing}): ChatTool[] => [
  getSchema(db),
  proposeMapping({db, parsing}),
  testExpression(db),
  explainIssue(db),
]
