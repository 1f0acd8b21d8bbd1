//! Networks: structure here, parameters in one flat vector, forward and backward over rows of a batch.
