import {TurnBody} from '../../shared/assistant/conversations/turn.ts'

export const Samples = TurnBody.shape.samples.describe(
  'The most detailed sample data sent to the model. `allow`: any values. `values`: values of columns without personal data. `masked`: only shapes of values. `none`: no sample data',
)
