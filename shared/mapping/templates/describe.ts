import type {TemplateRow} from '../../../sql/templates.ts'
import {mayEdit, type TemplateCaller} from './find.ts'
import {documentOf} from './template.ts'

export const outlineTemplate = (template: TemplateRow, asker: Omit<TemplateCaller, 'org'>) => {
  const {id, name, description, connectorId, version, shared, createdBy, createdByName, createdAt, updatedAt} = template
  return {
    id,
    name,
    description,
    connectorId,
    version,
    shared,
    createdBy: createdByName,
    mine: createdBy === asker.person,
    mayEdit: mayEdit(template, asker),
    createdAt,
    updatedAt,
  }
}

export const describeTemplate = (template: TemplateRow, asker: Omit<TemplateCaller, 'org'>) => {
  const {sources, flows, verify} = documentOf(template)
  return {...outlineTemplate(template, asker), sources, flows, verify}
}
