import type {TemplateRow} from '../../sql/templates.ts'
import {type Asker, mayEdit} from './find.ts'
import {documentOf} from './template.ts'

/** Without its document, as a list has it. */
export const outlineTemplate = (template: TemplateRow, asker: Omit<Asker, 'org'>) => {
  const {id, name, description, connectorId, version, shared, createdBy, createdByName, createdAt, updatedAt} = template
  return {
    ...{id, name, description, connectorId, version, shared},
    ...{createdBy: createdByName, mine: createdBy === asker.person, mayEdit: mayEdit(template, asker), createdAt, updatedAt},
  }
}

export const describeTemplate = (template: TemplateRow, asker: Omit<Asker, 'org'>) => {
  const {sources, flows} = documentOf(template)
  return {...outlineTemplate(template, asker), sources, flows}
}
