import type {Pool} from '../../../sql/database.ts'
import {explainIssue} from './explain-issue.ts'
import {getSchema} from './get-schema.ts'
import {proposeMapping} from './propose-mapping.ts'
import {testExpression} from './test-expression.ts'
import type {ChatTool} from './tool.ts'

/** In the order the model is told of them. */
export const chatTools = (db: Pool): ChatTool[] => [getSchema(db), proposeMapping(db), testExpression(db), explainIssue(db)]
