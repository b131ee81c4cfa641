import test from 'ava'
import {fixQuery, groupsOf, sayFix, sayPlace} from '../../api/clients/widget/imports/check-words.ts'
import {fixOf} from '../../workers/checks/fixes.ts'
import {problem} from './widget-samples.ts'

test('a problem is grouped by severity, names its place, and links to the column that fixes it', t => {
  t.deepEqual(
    groupsOf([{...problem, severity: 'info'}, problem]).map(({severity}) => severity),
    ['error', 'info'],
  )
  t.is(
    sayPlace(problem, {sources: new Map([['s', 'leads.csv']]), field: (_, field) => `Label of ${field}`}),
    'leads.csv › column Mail › Leads › Label of Email',
  )
  t.deepEqual(fixQuery(problem), {flow: 'leads', source: 's', field: 'Email'})
  t.deepEqual(fixQuery({...problem, kind: 'ambiguous', flow: null, field: null}), {source: 's'})
  t.deepEqual(fixQuery({...problem, kind: 'file_gone'}), {source: 's'})
  t.is(sayFix(problem), 'Correct the cells.')
  t.notRegex(sayFix({kind: 'ambiguous', fix: 'choices {"A": {}}'}), /choices/)
  for (const kind of ['field_missing', 'module_missing', 'option_missing', 'duplicate_match', 'empty', 'ragged', 'quote']) {
    t.regex(fixOf(kind), /POST|strike|shortRows|openQuotes/, 'the text of the API names its options')
    t.notRegex(sayFix({kind, fix: fixOf(kind)}), /POST|strike|shortRows|openQuotes/)
  }
  t.regex(sayFix({kind: 'field_missing', fix: ''}), /under Connections/)
  t.is(sayFix({kind: 'field_missing', fix: ''}, true), 'Map another field.', 'an embedded page has no connections')
})
