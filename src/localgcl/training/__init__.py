"""From a graph and a configuration to a trained model, and to the run folder that holds it."""

from localgcl.training.fit import fit as fit
from localgcl.training.model import Model as Model
from localgcl.training.run import RunFolder as RunFolder
from localgcl.training.session import Callback as Callback
from localgcl.training.session import Interrupted as Interrupted
from localgcl.training.session import StopTraining as StopTraining
from localgcl.training.session import TensorBoard as TensorBoard
