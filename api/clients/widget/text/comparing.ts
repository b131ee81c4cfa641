import {translate} from './language.ts'

export const t = translate('comparing', {
  compareWithTheCrm: 'Compare written rows with the CRM',
  rowsToCompare: 'Rows to compare',
  comparesWhatTheCrmStored:
    'Reads written records again and reports values that the CRM cut, converted or changed. Costs at least one CRM call per hundred compared rows.',
  verifyModes: {
    inherited: 'As the template says',
    off: 'None',
    sample: 'A sample: the first 100 rows of each mapping and one in 20 of the others',
    all: 'All written rows',
  },
  appliesToRuns: 'Applies to imports and schedules of this template, unless they say otherwise.',
  comparisonSaved: 'Setting saved',
})
